# The command and its web app: docker run --rm -v "$PWD:/logs" stepscope train.log
#   openssl rand -hex 16 > token.txt
#   docker run --rm -p 8400:8400 -v "$PWD:/logs" stepscope serve . --host 0.0.0.0 --port 8400 --token-file token.txt
FROM python:3.13-slim AS build
COPY . /src
RUN pip install --no-cache-dir --prefix /stepscope -c /src/constraints.txt "/src[web,notify]"

FROM python:3.13-slim
COPY --from=build /stepscope /usr/local
# Logs of strangers are read by somebody who may do nothing else.
RUN useradd --create-home --uid 10001 stepscope
USER stepscope
WORKDIR /logs
ENTRYPOINT ["stepscope"]
CMD ["--help"]
