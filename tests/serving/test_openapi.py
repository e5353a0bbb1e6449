"""The OpenAPI schema, and requests made from it by schemathesis."""

import json
import shutil

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from live_server import running
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions
from metacross.serving.served_model import ServedModel

PATHS = {
    "/v1/predict": {"post"},
    "/v1/stream": {"post"},
    "/v1/why": {"post"},
    "/v1/remember": {"post"},
    "/v1/forget": {"post"},
    "/v1/model": {"get"},
    "/healthz": {"get"},
    "/readyz": {"get"},
    "/metrics": {"get"},
}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

values = strategies.none() | strategies.integers() | strategies.text() | strategies.just(["ana"])
objects = strategies.dictionaries(strategies.sampled_from(["text", "words", "id", "x"]), values)
lines = objects.map(lambda line: json.dumps(line).encode()) | strategies.binary(max_size=50)
schemathesis.openapi.media_type("application/jsonl", strategies.lists(lines).map(b"\n".join))


def test_every_path_is_in_the_schema(client):
    schema = client.get("/openapi.json").json
    assert {path: {*methods} for path, methods in schema["paths"].items()} == PATHS
    predict = schema["paths"]["/v1/predict"]["post"]["responses"]
    assert {"200", "400", "401", "408", "413", "415", "422", "429", "503", "504"} <= {*predict}


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_requests_made_from_the_schema_are_answered_as_it_says(trained_folder, tmp_path, path):
    """Valid and invalid requests for every path; none is an error of the server."""
    folder = shutil.copytree(trained_folder, tmp_path / "model")  # the server learns
    options = ServerOptions(learn=True, limits=Limits(max_characters=2_000, max_texts=8))
    with running(ServedModel.at(folder, device="cpu"), options) as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json)
        schema.config.update(base_url=client.url)
        (operation,) = schema.include(path=path).get_all_operations()
        statuses = []

        @hypothesis.settings(
            max_examples=25,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.ok().as_strategy())
        def check(case):
            response = case.call_and_validate(checks=CHECKS, timeout=60)
            statuses.append(response.status_code)

        check()
    assert 200 in statuses
