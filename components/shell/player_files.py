"""The player's script and plotly, served as files that a browser may cache for ever."""

from hashlib import sha256

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from addnorm.player import FOLDER, PLOTLY, script
from components.shell.assets import CACHE_FOREVER


def version_of(body: bytes) -> str:
    """The part of an address that changes with the content."""
    return sha256(body).hexdigest()[:12]


BODIES = {"player.js": script().encode(), PLOTLY.name: PLOTLY.read_bytes()}
VERSION, PLOTLY_VERSION = map(version_of, BODIES.values())
ADDRESS, PLOTLY_ADDRESS = f"player/{VERSION}/player.js", f"player/{PLOTLY_VERSION}/{PLOTLY.name}"
SCRIPTS = dict(zip((ADDRESS, PLOTLY_ADDRESS), BODIES.values(), strict=True))
LOADER = (FOLDER / "loader.js").read_text(encoding="utf-8")
CSS = (FOLDER / "player.css").read_text(encoding="utf-8")
HTML = (FOLDER / "player.html").read_text(encoding="utf-8")


async def serve_script(request: Request) -> Response:
    """Serves a script by its name. An old page that requests another version gets the newest, uncached."""
    version, name = request.path_params["version"], request.path_params["name"]
    if name not in BODIES:
        return PlainTextResponse("There is no such script.", 404)
    headers = {"cache-control": CACHE_FOREVER if f"player/{version}/{name}" in SCRIPTS else "no-cache"}
    return Response(BODIES[name], media_type="text/javascript", headers=headers)
