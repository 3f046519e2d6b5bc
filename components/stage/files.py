"""The stage's own scripts, served as modules that import each other and that a browser may keep for ever."""

from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from components.shell.assets import KEPT

FOLDER = Path(__file__).with_name("browser")
MODULES = {file.name: file.read_bytes() for file in sorted(FOLDER.glob("*.js"))}
VERSION = sha256(b"".join(MODULES.values())).hexdigest()[:12]  # part of the address: a new version is a new file
LOADER = (FOLDER / "loader.js").read_text(encoding="utf-8")
CSS = Path(__file__).with_name("stage.css").read_text(encoding="utf-8")


async def module(request: Request) -> Response:
    """Serves a module by its name. An old page that asks for another version gets the newest, which is not cached."""
    body = MODULES.get(request.path_params["name"])
    if body is None:
        return PlainTextResponse("There is no such script.", 404)
    current = request.path_params["version"] == VERSION
    return Response(body, media_type="text/javascript", headers={"cache-control": KEPT if current else "no-cache"})
