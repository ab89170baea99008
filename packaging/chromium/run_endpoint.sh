#!/bin/bash
# Chromium as a client of the endpoint contract: a page fetches the files over HTTP/3 and writes
# them into itself as base64, and --dump-dom prints the page.

no() { echo "$1" >&2; exit 127; }
[ "$ROLE" = client ] || no "role: found $ROLE, expected client"
case "$TESTCASE" in
    transfer | http3) ;;
    *) no "test case: found $TESTCASE, expected transfer or http3" ;;
esac

origin=${REQUESTS#https://}
origin=${origin%%/*}
case "$origin" in *:*) ;; *) origin=$origin:443 ;; esac
# Chromium trusts no root that it does not know, and QUIC needs a known one or this.
key=$(openssl x509 -in /certs/cert.pem -pubkey -noout | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)

cat > /tmp/page.html <<PAGE
<body><script>
const lines = [];
for (const url of "$REQUESTS".split(" ")) {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.overrideMimeType("text/plain; charset=x-user-defined");
    request.send();
    if (request.status !== 200) throw new Error(url + ": status " + request.status);
    const text = request.responseText;
    const bytes = Array.from(text, character => String.fromCharCode(character.charCodeAt(0) & 255));
    lines.push("file " + url.split("/").pop() + " " + btoa(bytes.join("")));
}
document.body.textContent = "\n" + lines.join("\n") + "\n";
</script></body>
PAGE

export HOME=/tmp/home
mkdir -p "$HOME"
timeout 60 /usr/lib/chromium/chromium-headless-shell --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-first-run --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir=/tmp/home/profile --disable-web-security --allow-file-access-from-files \
    --origin-to-force-quic-on="$origin" --ignore-certificate-errors-spki-list="$key" \
    --enable-logging=stderr --dump-dom file:///tmp/page.html > /tmp/page.out || exit 1

stored=0
while read -r word name body; do
    [ "$word" = file ] || continue
    base64 -d <<< "$body" > "/downloads/$name" || exit 1
    stored=$((stored + 1))
done < /tmp/page.out
[ "$stored" = "$(wc -w <<< "$REQUESTS")" ] || { echo "stored $stored of the files" >&2; exit 1; }
