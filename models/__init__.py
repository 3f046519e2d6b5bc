"""The science of the playground: what a run is, the networks, the training, the findings. Knows no Streamlit."""
