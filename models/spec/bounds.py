"""Bounds on what a session, an address and a message may use. docs/server.md explains them; `limits` are an operator's.

A lecture hall is one address, so the bounds per address allow a class of sixty with several tabs each.
"""

# --- connections ---

MAX_WEBSOCKETS = 1200  # two per page
MAX_WEBSOCKETS_PER_ADDRESS = 900
MAX_FILES = 2**16  # file descriptors that the server requests
IPV6_NETWORK_BITS = 64  # a provider assigns the remaining bits to one customer
SEND_SECONDS = 10.0  # for a browser to receive a message
MAX_TICKETS = 5000

# --- messages ---

MAX_MESSAGE_BYTES = 2**20  # a pasted configuration has at most 400,000
MAX_LOG_CHARS = 2**17  # in a message to the player: eight of the longest links
MAX_LINK_CHARS = 2**14
MAX_TICKET_CHARS = 100
MAX_CLASS_CHARS = 500  # in a message to a class
MESSAGES_PER_SECOND = 20.0  # per connection
MAX_MESSAGES_AT_ONCE = 60.0  # per connection
MAX_RUNS_PER_PAGE = 8
MAX_SEEDS_PER_RUN = 10
MAX_RECORDING_BYTES = 2**32
MAX_NAME_CHARS = 255  # of a recording
MAX_READING_THREADS = 8  # for recordings, whose folder may hang
READ_SECONDS = 5.0  # for a recording

# --- the trainer ---

MAX_QUESTION_BYTES = 2**16  # eight times the longest question of a page
FULL_SHARES_PER_ADDRESS = 64  # sessions with a full share of the turns; with more, shares shrink

# --- classes ---

MAX_CLASSES = 50
MAX_CLASSES_PER_ADDRESS = 20  # a whole school may share an address
MAX_CLASSES_PER_PERSON = 5
MAX_GUESSES = MAX_WEBSOCKETS // 2 + 100  # per question: more than pages can be connected
MAX_KEY_CHARS = 64
MAX_STOPS = 20
MAX_STOP_CHARS = 2000
MAX_PLAN_CHARS = 12_000  # of the text of a plan
MAX_QUESTIONS = 24  # of a class, with their guesses; the oldest go
MAX_QUESTION_CHARS = 300
MAX_OPTIONS = 5
MAX_OPTION_CHARS = 80
MAX_NOTE_CHARS = 600  # of a stop's note for the teacher
MAX_MINUTES = 240  # of a stop
MAX_WRONG_CODES = 100  # per member, out of 331,776 codes
WRONG_CODE_SECONDS = 600.0  # in which wrong codes are counted
