import type { Backend } from '../../contract/backend.ts';
import { errorsSuite } from './errors.ts';
import { filesSuite } from './files.ts';
import { foldersSuite } from './folders.ts';
import { namesSuite } from './names.ts';
import { progressSuite } from './progress.ts';
import { transferSuite } from './transfer.ts';

/** What the interface promises, on any store, by requests to a service that listens. */
export function httpSuite(backend: Backend): void {
  filesSuite(backend);
  foldersSuite(backend);
  transferSuite(backend);
  namesSuite(backend);
  progressSuite(backend);
  errorsSuite(backend);
}
