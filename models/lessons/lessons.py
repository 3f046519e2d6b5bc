"""The lessons, each building on those before."""

from models.lessons.depths import COLLAPSE, GATES, INIT, WARMUP
from models.lessons.lesson import Lesson
from models.lessons.norms import BATCH, FINAL, PLACE
from models.lessons.signal import EXPLODING, SKIP, VANISHING

ORDER = (VANISHING, EXPLODING, SKIP, BATCH, PLACE, WARMUP, FINAL, INIT, GATES, COLLAPSE)
LESSONS: dict[str, Lesson] = {lesson.key: lesson for lesson in ORDER}
