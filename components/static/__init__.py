"""The pages of the static edition, which train in the browser and need no server."""
