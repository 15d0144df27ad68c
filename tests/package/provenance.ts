import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const PACKAGE = join(ROOT, 'package');

/** `provenance.json` of a built package. */
export interface Provenance {
  /** Name and version. */
  readonly package: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly bundled: Readonly<Record<'src' | 'web', readonly { package: string; integrity: string }[]>>;
  readonly files: readonly { path: string; sha256: string; from: string }[];
}

/** Reads the provenance of the package in a folder. */
export const provenanceOf = async (folder: string): Promise<Provenance> =>
  JSON.parse(await readFile(join(folder, 'provenance.json'), 'utf8'));
