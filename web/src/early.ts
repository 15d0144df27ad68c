// Runs before the first paint, so that a page in the dark does not flash. A plain script: it imports nothing.
try {
  const { theme } = JSON.parse(localStorage.getItem('holdall') ?? '{}') as { theme?: unknown };
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme;
} catch {
  // The theme of the system, then.
}
