import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PACKAGE_FOLDER } from './package-folder.ts';

const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'package.json'), 'utf8'));

/** The version of Holdall, as its package says it. */
export const version =
  typeof manifest === 'object' && manifest && 'version' in manifest ? String(manifest.version) : 'unknown';
