"""The player's scripts and plotly, served as files that a browser may cache for ever."""

from hashlib import sha256

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from addnorm.player import FOLDER, PLOTLY
from components.shell.assets import CACHE_FOREVER


def _version(*bodies: bytes) -> str:
    """The part of an address that changes with the content."""
    return sha256(b"".join(bodies)).hexdigest()[:12]


MODULES = {file.name: file.read_bytes() for file in sorted(FOLDER.glob("*.js"))}
VERSION = _version(*MODULES.values())
BUNDLE = PLOTLY.read_bytes()
PLOTLY_VERSION = _version(BUNDLE)
PLOTLY_ADDRESS = f"player/{PLOTLY_VERSION}/{PLOTLY.name}"
PRELOADED = [f"player/{VERSION}/{name}" for name in MODULES if name not in ("loader.js", "file.js")]
ADDRESSES = {f"player/{VERSION}/{name}": FOLDER / name for name in MODULES} | {PLOTLY_ADDRESS: PLOTLY}
SCRIPTS = {name: (VERSION, body) for name, body in MODULES.items()} | {PLOTLY.name: (PLOTLY_VERSION, BUNDLE)}
LOADER = (FOLDER / "loader.js").read_text(encoding="utf-8")
CSS = (FOLDER / "player.css").read_text(encoding="utf-8")
HTML = (FOLDER / "player.html").read_text(encoding="utf-8")


async def serve_module(request: Request) -> Response:
    """Serves a script by its name. An old page that requests another version gets the newest, uncached."""
    version, body = SCRIPTS.get(request.path_params["name"], ("", b""))
    if not version:
        return PlainTextResponse("There is no such script.", 404)
    headers = {"cache-control": CACHE_FOREVER if request.path_params["version"] == version else "no-cache"}
    return Response(body, media_type="text/javascript", headers=headers)
