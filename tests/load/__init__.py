"""A server of this app and viewers that speak Streamlit's own protocol to it: for the load test and the benchmarks."""
