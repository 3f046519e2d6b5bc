# A public Space or any server: `docker build -t add-norm . && docker run -p 8501:8501 add-norm`
FROM python:3.11.16-slim@sha256:e41613d42d4891e4930f79523f93f81bbc7632584ec65e36ab055f41a800b41e

RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv==0.13.9 \
    && useradd --create-home --uid 1000 user
WORKDIR /home/user/app
COPY requirements.txt requirements-space.txt ./
# The hashes are those of the files for the Space's processor.
RUN if [ "$(uname -m)" = x86_64 ]; then set -- --require-hashes -r requirements-space.txt; else set -- -r requirements.txt; fi \
    && uv pip install --system --no-cache --torch-backend=cpu "$@"
COPY --chown=user . .
USER user

ENV PYTHONUNBUFFERED=1
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD curl --fail --silent http://localhost:8501/healthz || exit 1
# A Space, which says its name in SPACE_ID, has one proxy of its own before every visitor, and is framed by its own page.
CMD ["sh", "-c", "export PLAYGROUND_PROXIES=${PLAYGROUND_PROXIES:-${SPACE_ID:+1}} PLAYGROUND_FRAMES=${PLAYGROUND_FRAMES:-${SPACE_ID:+https://huggingface.co}}; exec streamlit run app.py --server.address=0.0.0.0 --server.port=8501 --server.headless=true --client.showErrorDetails=none"]
