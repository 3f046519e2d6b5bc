# A public Space or any server: `docker build -t add-norm . && docker run -p 8501:8501 add-norm`
FROM python:3.11-slim

RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/* \
    && pip install --no-cache-dir uv \
    && useradd --create-home --uid 1000 user
WORKDIR /home/user/app
COPY requirements.txt .
RUN uv pip install --system --no-cache --torch-backend=cpu -r requirements.txt
COPY --chown=user . .
USER user

ENV PYTHONUNBUFFERED=1
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD curl --fail --silent http://localhost:8501/healthz || exit 1
# A Space, which says its name in SPACE_ID, has one proxy of its own before every visitor.
CMD ["sh", "-c", "export PLAYGROUND_PROXIES=${PLAYGROUND_PROXIES:-${SPACE_ID:+1}}; exec streamlit run app.py --server.address=0.0.0.0 --server.port=8501 --server.headless=true --client.showErrorDetails=none"]
