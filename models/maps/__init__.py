"""Maps: one configuration over two axes and several arrangements. Only `unit`, which the workers run, needs torch."""

from models.maps.cells import Cell, Outcome
from models.maps.spec import Axis, MapSpec
from models.maps.store import MapStore, maps_folder

__all__ = ["Axis", "Cell", "MapSpec", "MapStore", "Outcome", "maps_folder"]
