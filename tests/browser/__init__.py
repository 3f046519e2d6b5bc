"""The app in a real browser: the system's Chromium, driven by Playwright, on servers of this machine."""
