import { join } from 'node:path';

/** The folder of the package. Both this file and what the build makes of it, in `dist`, are one folder below it. */
export const PACKAGE_FOLDER = join(import.meta.dirname, '..');
