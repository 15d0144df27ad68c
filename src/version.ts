import { readFileSync } from 'node:fs';

const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** The version of Holdall, as its package says it. */
export const version =
  typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown';
