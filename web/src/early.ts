// Applies the chosen theme before the first paint. Otherwise, a dark page would flash. A plain script without imports.
try {
  const { theme } = JSON.parse(localStorage.getItem('holdall') ?? '{}') as { theme?: unknown };
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme;
} catch {
  // Without the storage, the theme of the device applies.
}
