// On paper a page is as wide as on this screen, for which its charts were drawn; `style.css` makes it smaller.
window.addEventListener("beforeprint", () => {
  document.documentElement.style.setProperty("--screen", String(window.innerWidth))
})
