// The app's own additions to the page: live updates of an open run, and logs that are pasted or dropped.
(function () {
  function show(target, markup) {
    const state = stepscope.keep();
    const parsed = new DOMParser().parseFromString(markup, "text/html");
    target.replaceChildren(...parsed.body.childNodes);
    stepscope.draw();
    stepscope.restore(state);
  }

  const live = document.getElementById("live");
  if (live) {
    const path = live.dataset.path;
    const events = new EventSource("events?path=" + encodeURIComponent(path));
    events.onmessage = async () => {
      const answer = await fetch("fragment?path=" + encodeURIComponent(path));
      if (!answer.ok) return;
      const place = window.scrollY;
      show(document.getElementById("run"), await answer.text());
      window.scrollTo(0, place);
    };
  }

  const form = document.getElementById("paste");
  if (!form) return;
  const target = document.getElementById("answer");
  const send = async (body) => {
    target.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch("explain", { method: "POST", body: body });
      show(target, await answer.text());
    } catch (problem) {
      target.textContent = target.dataset.failed;
    }
    target.removeAttribute("aria-busy");
    target.scrollIntoView({ block: "start" });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(new Blob([document.getElementById("text").value], { type: "text/plain" }));
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
})();
