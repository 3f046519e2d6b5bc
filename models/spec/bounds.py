"""What a stranger may use, by session, address and bytes. docs/server.md explains it; an operator sets `limits`.

A lecture hall is one address, so what an address may hold is enough for a class of sixty with several tabs each.
"""

# --- connections ---

MAX_WEBSOCKETS, MAX_WEBSOCKETS_PER_ADDRESS = 1200, 900  # a page has two
MAX_PAGES, MAX_PAGES_PER_ADDRESS = 500, 400  # of the player's connections; as many again of the classes'
MAX_PAGES_PER_TICKET = 4  # a page that returns has a connection beside the one that was cut
MAX_IDLE_CONNECTIONS = 1000
MAX_FILES = 2**16  # descriptors that the server asks for
IPV6_NETWORK_BITS = 64  # of an address: a provider gives one customer the others
IDLE_SECONDS = 15.0  # without a whole request
HELLO_SECONDS = 10.0  # from a page's connection to its first message
SEND_SECONDS = 10.0  # that a browser may take to receive a message
MAX_TICKETS, TICKET_SECONDS = 5000, 3600.0  # since a ticket's last use

# --- messages ---

MESSAGE_SECONDS = 30.0  # from a message's first byte to its last
MAX_MESSAGE_BYTES = 2**20  # a pasted configuration has at most 400,000
MAX_UNFINISHED_BYTES = 2**24  # of all messages that have begun and not ended
MAX_LOG_CHARS = 2**17  # of a message to the player: room for eight of the longest links
MAX_LINK_CHARS = 2**14
MAX_TICKET_CHARS = 100
MAX_CLASS_CHARS = 500  # of a message to a class
MESSAGES_PER_SECOND, MAX_MESSAGES_AT_ONCE = 20.0, 60.0  # of one connection
MAX_RUNS_PER_PAGE, MAX_SEEDS_PER_RUN = 8, 10
MAX_RECORDING_BYTES, MAX_NAME_CHARS = 2**32, 255
MAX_READING_THREADS, READ_SECONDS = 8, 5.0  # for recordings, whose folder may not answer

# --- the trainer ---

MAX_QUESTION_BYTES = 2**16  # eight times the longest that a page asks
FULL_SHARES_PER_ADDRESS = 64  # sessions that get a share of the turns each; of more, all get less

# --- classes ---

MAX_CLASSES, MAX_CLASSES_PER_ADDRESS = 50, 20  # a whole school may sit behind one address
MAX_GUESSES = 120  # of a question
MAX_HOMES_PER_CLASS = 500  # that a class remembers as its own
MAX_KEY_CHARS = 64
MAX_STOPS, MAX_STOP_CHARS = 20, 2000
MAX_WRONG_CODES, WRONG_CODE_SECONDS = 100, 600.0  # of an address: of 331,776, where a school mistypes a few
