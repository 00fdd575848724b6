"""Many clients at once. `make load` runs it with 200 clients for 30 s."""

import os
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from http_clients import encode_request, running_service, send_requests
from service_parts import tuning_query

from apptek.server.served_model import ServedModel

CLIENTS, SECONDS = (200, 30.0) if os.environ.get("APPTEK_LOAD") == "full" else (50, 4.0)
GROWTH = 24 << 20  # bytes that the process may have more than after its first answers


def resident_bytes(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_many_clients_meet_no_error_and_the_service_does_not_grow(explored_model: Path) -> None:
    served = ServedModel.open(explored_model)
    with running_service(explored_model) as service:
        requests = []
        for row in range(200):
            query = tuning_query(served, row)
            path = "/api/explain" if row % 4 == 0 else "/api/predict"
            requests.append(encode_request(service.address, path, query))
            actor = query["subject"]
            typed, watched, searched = (
                urlencode({"q": actor[:3].strip()}),
                urlencode({"days": 1 + row % 60, "limit": 1 + row % 50, "entity": actor}),
                urlencode({"q": f"{actor} visit", "limit": 1 + row % 8}),
            )
            requests.append(encode_request(service.address, f"/api/questions?{searched}"))
            path = f"/api/entity/{quote(actor)}/timeline?limit=1&members=true"
            requests.append(encode_request(service.address, path))
            partners = {"actor": actor, "days": 1 + row % 30}
            requests.append(encode_request(service.address, "/api/partners", partners))
            requests.append(encode_request(service.address, f"/api/entities?{typed}"))
            requests.append(encode_request(service.address, f"/api/watch?{watched}"))
            asked = {"subject": query["subject"], "object": query["object"], "days": 1 + row % 30}
            requests.append(encode_request(service.address, "/api/forecast", asked))
        send_requests(service.address, requests, CLIENTS)
        before = resident_bytes(service.process)
        result = send_requests(service.address, requests, CLIENTS, seconds=SECONDS)
        after = resident_bytes(service.process)
    assert set(result.statuses) <= {200, 503}  # a busy machine may turn clients away
    assert result.statuses[200] > 0
    assert after - before < GROWTH
