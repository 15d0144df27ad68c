import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Need } from './needs.ts';

const DECLARATION = /^export const needs(?:: readonly Need\[\])? = (\[[^\]]*\]);$/m;

/** Returns the names of the needs that a test file declares. Reads the source, so the file need not be loaded. */
export function declaredNeeds(file: string): string[] {
  const [, list = '[]'] = DECLARATION.exec(readFileSync(file, 'utf8')) ?? [];
  return Array.from(list.matchAll(/'([^']*)'/g), ([, name = '']) => name);
}

/**
 * Fails a test file that uses what it does not declare: on a machine without it, the runner would run the file. Other
 * programs, such as the benchmarks, declare nothing.
 */
export function assertDeclared(need: Need): void {
  const [, file] = process.argv;
  if (process.env['NODE_TEST_CONTEXT'] === undefined || file === undefined) return;
  if (declaredNeeds(file).includes(need)) return;
  const declaration = `export const needs: readonly Need[] = ['${need}'];`;
  throw new Error(`${relative(process.cwd(), file)} must declare what it uses: ${declaration}`);
}
