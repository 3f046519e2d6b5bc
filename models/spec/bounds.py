"""Bounds on what a session, an address and a message may use. docs/server.md explains them; `limits` are an operator's.

A lecture hall is one address, so the bounds per address allow a class of sixty with several tabs each.
"""

# --- connections ---

MAX_WEBSOCKETS, MAX_WEBSOCKETS_PER_ADDRESS = 1200, 900  # two per page
MAX_PAGES, MAX_PAGES_PER_ADDRESS = 500, 400  # of the player; the classes have as many of their own
MAX_PAGES_PER_TICKET = 4  # a reconnecting page may briefly have two
MAX_IDLE_CONNECTIONS = 1000
MAX_FILES = 2**16  # file descriptors that the server requests
IPV6_NETWORK_BITS = 64  # a provider assigns the remaining bits to one customer
IDLE_SECONDS = 15.0  # until a complete request
HELLO_SECONDS = 10.0  # from connecting to the first message
SEND_SECONDS = 10.0  # for a browser to receive a message
MAX_TICKETS, TICKET_SECONDS = 5000, 3600.0  # since the ticket's last use

# --- messages ---

MESSAGE_SECONDS = 30.0  # from the first byte of a message to its last
MAX_MESSAGE_BYTES = 2**20  # a pasted configuration has at most 400,000
MAX_UNFINISHED_BYTES = 2**24  # in all incomplete messages together
MAX_LOG_CHARS = 2**17  # in a message to the player: eight of the longest links
MAX_LINK_CHARS = 2**14
MAX_TICKET_CHARS = 100
MAX_CLASS_CHARS = 500  # in a message to a class
MESSAGES_PER_SECOND, MAX_MESSAGES_AT_ONCE = 20.0, 60.0  # per connection
MAX_RUNS_PER_PAGE, MAX_SEEDS_PER_RUN = 8, 10
MAX_RECORDING_BYTES, MAX_NAME_CHARS = 2**32, 255
MAX_READING_THREADS, READ_SECONDS = 8, 5.0  # for recordings, whose folder may hang

# --- the trainer ---

MAX_QUESTION_BYTES = 2**16  # eight times the longest question of a page
FULL_SHARES_PER_ADDRESS = 64  # sessions with a full share of the turns; with more, shares shrink

# --- classes ---

MAX_CLASSES, MAX_CLASSES_PER_ADDRESS = 50, 20  # a whole school may share an address
MAX_GUESSES = 120  # per question
MAX_ADDRESSES_PER_CLASS = 500  # that a class remembers
MAX_KEY_CHARS = 64
MAX_STOPS, MAX_STOP_CHARS = 20, 2000
MAX_WRONG_CODES, WRONG_CODE_SECONDS = 100, 600.0  # per address, out of 331,776 codes
