import json
import urllib.request
from pathlib import Path

import pytest
from command_line import apptek_process, run_python
from http_clients import running_service
from typer.testing import CliRunner

from apptek import extras
from apptek.cli import app


def test_serve_answers_until_it_is_ended(served_model: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    with running_service(served_model, "--token-file", str(tmp_path / "token")) as service:
        assert service.address.startswith("http://127.0.0.1:")
        wanted = urllib.request.Request(f"{service.address}/api/health")
        wanted.add_header("Authorization", "Bearer secret")
        with urllib.request.urlopen(wanted) as response:
            assert json.load(response)["status"] == "ok"
        with urllib.request.urlopen(service.address) as response:
            whole = response.read()
            assert b"APPTeK Explorer" in whole
        head = urllib.request.Request(service.address, method="HEAD")
        with urllib.request.urlopen(head) as response:
            assert response.read() == b""
            assert int(response.headers["Content-Length"]) == len(whole)


@pytest.mark.slow
def test_a_taken_port_is_named(served_model: Path) -> None:
    with running_service(served_model) as service:
        port = service.address.rpartition(":")[2]
        done = apptek_process("serve", str(served_model), "--port", port)
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.gate
def test_answers_and_explanations_need_no_torch(served_model: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from apptek.server.served_model import ServedModel\n"
        "from apptek.server.app import create_app\n"
        f"create_app(ServedModel.open(Path({str(served_model)!r})))\n"
        "sys.exit('torch' in sys.modules)"
    )
    run_python(code)


@pytest.mark.parametrize(("command", "module"), [("serve", "uvicorn"), ("mcp", "mcp")])
def test_a_missing_extra_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, command: str, module: str
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == module else name)
    error = CliRunner().invoke(app, [command, "model"]).exception
    assert f"needs {module}: pip install 'apptek[{command}]'" in str(error)
