"""The server: its paths, and what each of them answers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse

import metacross
from metacross.serving import label_studio, learning, schemas
from metacross.serving.guard import Guard
from metacross.serving.json_body import JsonRoute, check_content_type
from metacross.serving.labeling import ClientLeft, LabelingDesk
from metacross.serving.metrics import CONTENT_TYPE, ServerMetrics
from metacross.serving.model_description import model_json
from metacross.serving.options import ServerOptions
from metacross.serving.page_files import add_page, page_paths
from metacross.serving.predicting import Predictor
from metacross.serving.problems import RequestProblem, internal_error
from metacross.serving.served_model import ServedModel
from metacross.serving.streaming import CONTENT_TYPES, answer_lines, spooled_body
from metacross.serving.validation import validation_problem

_CLIENT_LEFT = 499  # nobody reads it; the metrics count it
_API_PATHS = ("/v1/predict", "/v1/stream", "/v1/why", "/v1/model", "/metrics", "/openapi.json")
_HEALTH_PATHS = ("/healthz", "/readyz")
_LINES_SCHEMA = {
    "requestBody": {
        "required": True,
        "content": {CONTENT_TYPES[0]: {"schema": {"type": "string"}}},
    }
}
_REQUESTS: dict[str, type[BaseModel]] = {
    "/v1/predict": schemas.PredictRequest,
    "/v1/stream": schemas.StreamQuery,
    "/v1/why": schemas.WhyRequest,
    "/v1/remember": learning.RememberRequest,
    "/v1/forget": learning.ForgetRequest,
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ProblemAnswer, "description": description}
    for status, description in {
        400: "Not JSON, or not UTF-8.",
        401: "A wrong token, or none.",
        403: "A wrong Host header.",
        408: "The body arrives too slowly.",
        413: "Above a limit of the server.",
        415: "A wrong Content-Type.",
        422: "A field has a wrong value.",
        429: "The queue is full.",
        503: "The server is loading or stopping.",
        504: "Not answered in time.",
    }.items()
}


def create_app(served: ServedModel, options: ServerOptions) -> FastAPI:
    """The server as an ASGI application; the model is loaded when it starts."""
    metrics = ServerMetrics()

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk = LabelingDesk(served.load, options.limits, metrics)
        app.state.desk = desk
        app.state.predictor = Predictor(desk, options, served)
        desk.start()
        yield
        desk.drop_all()
        await desk.ended()
        desk.close()

    app = FastAPI(
        title="metacross",
        version=metacross.__version__,
        description="Finds named entities in texts of any language, adapting to each sentence.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.options, app.state.limits = options, options.limits
    app.state.served, app.state.metrics = served, metrics
    app.include_router(_router)
    app.include_router(learning.router)
    app.include_router(label_studio.router)
    add_page(app)
    _add_problems(app)
    _add_layers(app, options, metrics)
    return app


def _add_layers(app: FastAPI, options: ServerOptions, metrics: ServerMetrics) -> None:
    pages = tuple(page_paths())
    app.add_middleware(
        Guard,
        options=options,
        metrics=metrics,
        paths=(*_API_PATHS, *learning.PATHS, *_HEALTH_PATHS, *label_studio.PATHS, *pages),
        open_paths=(*_HEALTH_PATHS, *label_studio.HEALTH_PATHS, *pages),
    )
    if options.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )


def _add_problems(app: FastAPI) -> None:
    """Give every error the same JSON."""

    @app.exception_handler(HTTPException)
    async def http_problem(_request: Request, error: HTTPException) -> Response:
        return _as_problem(error).response()

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return validation_problem(error.errors(), _REQUESTS.get(request.url.path)).response()

    @app.exception_handler(ClientDisconnect)  # while it sent the body
    @app.exception_handler(ClientLeft)
    async def client_left(request: Request, _error: Exception) -> Response:
        request.app.state.metrics.dropped()
        return Response(status_code=_CLIENT_LEFT)

    @app.exception_handler(Exception)
    async def failed(_request: Request, _error: Exception) -> Response:
        return internal_error().response()


def _as_problem(error: HTTPException) -> RequestProblem:
    if isinstance(error, RequestProblem):
        return error
    codes = {
        404: ("unknown_path", "expected a path of this server; GET /openapi.json lists them"),
        405: ("wrong_method", "expected another method; GET /openapi.json lists them"),
    }
    code, message = codes.get(error.status_code, ("bad_request", str(error.detail)))
    where = {404: "path", 405: "method"}.get(error.status_code, "body")
    problem = RequestProblem(error.status_code, code, message, where=where)
    problem.headers = error.headers
    return problem


_router = APIRouter()
_json_router = APIRouter(route_class=JsonRoute)


def _json_response(content: bytes) -> Response:
    return Response(content, media_type="application/json")


@_json_router.post("/v1/predict", response_model=schemas.PredictAnswer, responses=_PROBLEMS)
async def predict(request: Request, body: schemas.PredictRequest) -> Response:
    """Find the entities of texts."""
    state = request.app.state
    return _json_response(await state.desk.answered_in_time(request, state.predictor.predict(body)))


@_json_router.post("/v1/why", response_model=schemas.WhyAnswer, responses=_PROBLEMS)
async def why(request: Request, body: schemas.WhyRequest) -> Response:
    """Explain a sentence: its entities with none, some and all of its neighbors."""
    state = request.app.state
    return _json_response(await state.desk.answered_in_time(request, state.predictor.why(body)))


@_router.post(
    "/v1/stream",
    response_class=StreamingResponse,
    responses={**_PROBLEMS, 200: {"content": {"application/jsonl": {}}}},
    openapi_extra=_LINES_SCHEMA,
)
async def stream(
    request: Request, query: Annotated[schemas.StreamQuery, Query()]
) -> StreamingResponse:
    """Find the entities of any number of texts: a JSON object per line, answered in order."""
    state = request.app.state
    check_content_type(request, CONTENT_TYPES)
    state.predictor.check_ready(query)
    body = await spooled_body(request, state.limits)
    lines = answer_lines(body, query, state.predictor, state.limits)
    return StreamingResponse(lines, media_type=CONTENT_TYPES[0])


@_router.get("/v1/model", response_model=schemas.ModelAnswer, responses=_PROBLEMS)
async def model(request: Request) -> Response:
    """Which model is served, and what the server accepts."""
    state = request.app.state
    content = model_json(state.desk.model, state.served, state.options)
    return JSONResponse(content)


@_router.get("/healthz", response_model=schemas.StateAnswer)
async def health() -> Response:
    """Whether the server runs; answers at once, whatever the load."""
    return JSONResponse({"status": "ok"})


@_router.get(
    "/readyz", response_model=schemas.StateAnswer, responses={503: {"model": schemas.StateAnswer}}
)
async def ready(request: Request) -> Response:
    """Whether the server takes work: 503 while it loads its model and while it stops."""
    state = request.app.state.desk.state
    return JSONResponse({"status": state}, status_code=200 if state == "ready" else 503)


@_router.get("/metrics", responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Counts and times for Prometheus."""
    return Response(request.app.state.metrics.as_text(), media_type=CONTENT_TYPE)


_router.include_router(_json_router)
