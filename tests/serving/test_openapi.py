"""The OpenAPI schema, and requests made from it by schemathesis."""

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error

from live_server import running
from metacross.serving.limits import Limits
from metacross.serving.options import ServerOptions

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


def test_every_path_is_in_the_schema(client):
    schema = client.get("/openapi.json").json
    assert {path: {*methods} for path, methods in schema["paths"].items()} == PATHS
    predict = schema["paths"]["/v1/predict"]["post"]["responses"]
    assert {"200", "400", "401", "408", "413", "415", "422", "429", "503", "504"} <= {*predict}


@pytest.mark.slow
def test_no_request_made_from_the_schema_is_a_server_error(served):
    """Valid and invalid requests for every path; answers must be as the schema says."""
    limits = Limits(max_characters=2_000, max_texts=8)
    with running(served, ServerOptions(limits=limits)) as client:
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json)
        schema.config.update(base_url=client.url)
        n_requests = 0
        for operation in schema.get_all_operations():

            @hypothesis.settings(
                max_examples=25,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            @hypothesis.given(case=operation.ok().as_strategy())
            def check(case):
                nonlocal n_requests
                n_requests += 1
                case.call_and_validate(checks=[not_a_server_error], timeout=60)

            check()
    assert n_requests > 100
