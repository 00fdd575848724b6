import os

from hypothesis import settings

settings.register_profile("apptek", deadline=None, derandomize=True)
settings.load_profile("apptek")
os.environ.setdefault("COLUMNS", "120")
