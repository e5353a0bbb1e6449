"""A stand-in for the Hugging Face hub on loopback: repositories with commits, kept in memory."""

import base64
import contextlib
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "hf_stand_in"


@dataclass
class Repository:
    """Commits, each with all of its files, and the commit of each branch."""

    private: bool
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        name = hashlib.sha1(f"{len(self.commits)}".encode()).hexdigest()
        self.commits[name], self.branches[branch] = files, name
        return name

    def resolved(self, revision: str) -> str | None:
        return revision if revision in self.commits else self.branches.get(revision)


class StandInHub:
    """Answers what ``huggingface_hub`` asks to create, fill and download a model repository."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.downloaded: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "StandInHub":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def files(self, repository: str, branch: str = "main") -> dict[str, bytes]:
        """The files of the newest commit of a branch."""
        stored = self.repositories[repository]
        return stored.commits[stored.branches[branch]]

    def add(self, repository: str, files: dict[str, bytes], *, private: bool = False) -> str:
        """Add a repository with one commit; its name."""
        self.repositories[repository] = Repository(private)
        return self.repositories[repository].commit("main", files)

    def _handler(hub) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self too
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

            def do_GET(self) -> None:
                hub._route(self, _GET)

            do_HEAD = do_GET  # noqa: N815 - as http.server calls it

            def do_POST(self) -> None:
                self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    answer(self, 401, {"error": "Invalid username or password."})
                else:
                    hub._route(self, _POST)

        return Handler

    def _route(self, handler, routes) -> None:
        path = unquote(urlsplit(handler.path).path)
        for pattern, respond in routes.items():
            if match := re.fullmatch(pattern, path):
                respond(self, handler, **match.groupdict())
                return
        answer(handler, 404, {"error": f"the stand-in hub does not know {handler.path}"})

    def _found(self, handler, name, revision="main"):
        """The repository and commit; answers with the hub's errors if there is none."""
        repository = self.repositories.get(name)
        if repository is None:
            answer(handler, 404, {"error": "Repository not found"}, code="RepoNotFound")
            return None
        commit = repository.resolved(revision)
        if commit is None and repository.commits:
            answer(handler, 404, {"error": "Revision not found"}, code="RevisionNotFound")
            return None
        return repository, commit

    def _info(self, handler, name, revision="main") -> None:
        if found := self._found(handler, name, revision):
            repository, commit = found
            siblings = [{"rfilename": file} for file in repository.commits.get(commit, {})]
            answer(
                handler,
                200,
                {"id": name, "sha": commit, "private": repository.private, "siblings": siblings},
            )

    def _tree(self, handler, name, revision) -> None:
        if found := self._found(handler, name, revision):
            repository, commit = found
            files = repository.commits.get(commit, {})
            answer(handler, 200, [tree_entry(path, data) for path, data in files.items()])

    def _file(self, handler, name, revision, path) -> None:
        if found := self._found(handler, name, revision):
            repository, commit = found
            data = repository.commits[commit].get(path)
            if data is None:
                answer(handler, 404, {"error": "Entry not found"}, code="EntryNotFound")
                return
            self.downloaded.append(path)
            headers = {"ETag": f'"{blob_id(data)}"', "X-Repo-Commit": commit}
            answer(handler, 200, data, headers=headers)

    def _create(self, handler) -> None:
        values = json.loads(handler.body)
        name = f"{values['organization']}/{values['name']}"
        if name in self.repositories:
            error = "You already created this model repo"
            answer(handler, 409, {"error": error, "url": f"{self.endpoint}/{name}"})
            return
        private = values.get("private") or values.get("visibility") == "private"
        self.repositories[name] = Repository(bool(private))
        self.repositories[name].commit("main", {".gitattributes": b""})
        answer(handler, 200, {"url": f"{self.endpoint}/{name}", "name": name})

    def _branch(self, handler, name, branch) -> None:
        repository = self.repositories[name]
        if branch in repository.branches:
            answer(handler, 409, {"error": "Reference already exists"})
            return
        repository.branches[branch] = repository.branches["main"]
        answer(handler, 200, {})

    def _validate_yaml(self, handler) -> None:
        answer(handler, 200, {"errors": [], "warnings": []})

    def _preupload(self, handler, name, revision) -> None:
        files = [
            {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
            for file in json.loads(handler.body)["files"]
        ]
        answer(handler, 200, {"files": files})

    def _commit(self, handler, name, revision) -> None:
        repository = self.repositories[name]
        files = dict(repository.commits[repository.branches[revision]])
        for line in handler.body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "deletedFile":
                del files[value["path"]]
            else:
                assert operation["key"] == "header", operation["key"]
        commit = repository.commit(revision, files)
        url = f"{self.endpoint}/{name}/commit/{commit}"
        answer(handler, 200, {"commitOid": commit, "commitUrl": url, "success": True})


_NAME = r"(?P<name>[^/]+/[^/]+)"
_GET = {
    rf"/api/models/{_NAME}": StandInHub._info,
    rf"/api/models/{_NAME}/revision/(?P<revision>[^/]+)": StandInHub._info,
    rf"/api/models/{_NAME}/tree/(?P<revision>[^/]+)": StandInHub._tree,
    rf"/{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)": StandInHub._file,
}
_POST = {
    r"/api/repos/create": StandInHub._create,
    r"/api/validate-yaml": StandInHub._validate_yaml,
    rf"/api/models/{_NAME}/branch/(?P<branch>[^/]+)": StandInHub._branch,
    rf"/api/models/{_NAME}/preupload/(?P<revision>[^/]+)": StandInHub._preupload,
    rf"/api/models/{_NAME}/commit/(?P<revision>[^/]+)": StandInHub._commit,
}


def blob_id(data: bytes) -> str:
    """The name that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def tree_entry(path: str, data: bytes) -> dict[str, object]:
    return {"type": "file", "path": path, "size": len(data), "oid": blob_id(data)}


def answer(handler, status, value, *, headers=None, code=None) -> None:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    with contextlib.suppress(BrokenPipeError):
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        for name, text in {**(headers or {}), **({"X-Error-Code": code} if code else {})}.items():
            handler.send_header(name, text)
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)
