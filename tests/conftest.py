import hashlib
import os
from pathlib import Path

from hypothesis import settings

ROOT = Path(__file__).parents[1]

# numba does not notice that a kernel in another file has changed, so that every state of the
# sources has a cache of its own. Commands that the tests start inherit it.
_sources = hashlib.sha256()
for _file in sorted((ROOT / "src").rglob("*.py")):
    _text = _file.read_bytes()
    if b"@kernel" in _text or b"@leaf" in _text or b"njit" in _text:
        _sources.update(_text)
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / _sources.hexdigest()[:16]))
os.environ.setdefault("COLUMNS", "120")

settings.register_profile("apptek", deadline=None, derandomize=True)
settings.load_profile("apptek")
