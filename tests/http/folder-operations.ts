import assert from 'node:assert/strict';
import { type HttpResponse, send } from './client.ts';

export type Tree = Record<string, string | null>;

/** An operation on the folder `a`: on the whole folder, and with `b` as its destination if it has one. */
export interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
  readonly success: Record<string, unknown>;
  readonly keepsSource?: boolean;
}

export const COPY: Operation = {
  name: 'copy',
  method: 'POST',
  path: '/copy',
  body: { source: 'a', destination: 'b', is_folder: true },
  success: { message: 'Item copied successfully' },
  keepsSource: true,
};
export const MOVE: Operation = {
  name: 'move',
  method: 'POST',
  path: '/move',
  body: { source: 'a', destination: 'b', is_folder: true },
  success: { message: 'Item moved successfully' },
};
const RENAME: Operation = {
  name: 'rename',
  method: 'POST',
  path: '/rename_folder/a',
  body: { newName: 'b' },
  success: { message: 'Folder renamed successfully', newPrefix: 'b/' },
};
export const DELETE: Operation = {
  name: 'delete',
  method: 'DELETE',
  path: '/delete_folder/a',
  success: { message: 'Folder deleted successfully' },
};
const DELETE_BY_POST: Operation = { ...DELETE, name: 'delete by POST', method: 'POST' };

/** The operations with a destination. */
export const TRANSFERS = [COPY, MOVE, RENAME];
export const ALL = [...TRANSFERS, DELETE, DELETE_BY_POST];

export const NDJSON = 'application/x-ndjson';

/** A folder with files at several depths, one of them empty, and an empty folder. */
export const source = (folder: string): Tree => ({
  [`${folder}/`]: null,
  [`${folder}/0`]: 'text of 0',
  [`${folder}/1`]: 'text of 1!',
  [`${folder}/2`]: 'text of 2',
  [`${folder}/empty/`]: null,
  [`${folder}/s/`]: null,
  [`${folder}/s/nothing`]: '',
  [`${folder}/s/t/`]: null,
  [`${folder}/s/t/3`]: 'text of 3',
});
export const FILES = 5;
export const BYTES = Object.values(source('a')).join('').length;

export function callOf({ method, body }: Operation, accept?: string) {
  const headers = { ...(accept !== undefined && { accept }), ...(body && { 'content-type': 'application/json' }) };
  return { method, headers, ...(body && { body: JSON.stringify(body) }) };
}

export const sendOperation = (port: number, operation: Operation, accept?: string): Promise<HttpResponse> =>
  send(port, operation.path, callOf(operation, accept));

/** The tree after an operation on `a` has succeeded. */
export function resultOf({ name, keepsSource }: Operation): Tree {
  return { ...(keepsSource && source('a')), ...(name.startsWith('delete') ? {} : source('b')) };
}

export interface ProgressLine {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

/** Parses an NDJSON response: progress lines, and an envelope as the last line. */
export function linesOf(response: HttpResponse): { progress: ProgressLine[]; last: Record<string, unknown> } {
  assert.equal(response.status, 200, response.body.toString());
  assert.equal(response.headers['content-type'], NDJSON);
  const text = response.body.toString();
  assert.ok(text.endsWith('\n'));
  const lines = text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const last = lines.pop() ?? {};
  const progress = lines.map((line) => {
    assert.deepEqual(Object.keys(line), ['progress']);
    const state = line['progress'] as ProgressLine;
    assert.deepEqual(Object.keys(state).toSorted(), ['bytes', 'done', 'total']);
    return state;
  });
  return { progress, last };
}
