import type { Call } from '../http/client.ts';
import { BOUNDARY, escapePath, formOf } from '../http/client.ts';

/** A request of the API for a path, with its name. */
export type NamedRequest = readonly [name: string, path: string, call: Call];

/** Returns every request that uses `path` as a file: those that read, delete or write it. */
export function requestsForFile(path: string): NamedRequest[] {
  const url = escapePath(path);
  return [
    ['fetch', `/file/${url}`, {}],
    ['fetch a range', `/file/${url}`, { headers: { range: 'bytes=0-3' } }],
    ['fetch under a condition', `/file/${url}`, { headers: { 'if-none-match': '"x"' } }],
    ['head', `/file/${url}`, { method: 'HEAD' }],
    ['thumbnail', `/thumb/${url}`, {}],
    ['delete', `/delete/${url}`, { method: 'DELETE' }],
    ['delete by POST', `/delete/${url}`, { method: 'POST' }],
    ...[false, true].flatMap((overwrite): NamedRequest[] => [
      ['rename', `/rename/${url}`, json({ newName: 'renamed', overwrite })],
      ['copy from', '/copy', json({ source: path, destination: 'copied', is_folder: false, overwrite })],
      ['move from', '/move', json({ source: path, destination: 'moved', is_folder: false, overwrite })],
      ['copy to', '/copy', json({ source: 'mine', destination: path, is_folder: false, overwrite })],
      ['move to', '/move', json({ source: 'mine', destination: path, is_folder: false, overwrite })],
    ]),
    uploadRequest(path, 'prefix first'),
    uploadRequest(path, 'file first'),
  ];
}

/** Returns every request that uses `path` as a folder. */
export function requestsForFolder(path: string): NamedRequest[] {
  const url = escapePath(path);
  return [
    ['list', `/${url}`, {}],
    ['list by prefix', `/?prefix=${encodeURIComponent(path)}`, {}],
    ['create folder', '/create_folder', json({ path })],
    ['create folder below', '/create_folder', json({ path: `${path}/new/deep` })],
    ['delete folder', `/delete_folder/${url}`, { method: 'DELETE' }],
    ...[false, true].flatMap((overwrite): NamedRequest[] => [
      ['rename folder', `/rename_folder/${url}`, json({ newName: 'renamed', overwrite })],
      ['copy folder from', '/copy', json({ source: path, destination: 'copied', is_folder: true, overwrite })],
      ['move folder from', '/move', json({ source: path, destination: 'moved', is_folder: true, overwrite })],
      ['copy folder to', '/copy', json({ source: 'my folder', destination: path, is_folder: true, overwrite })],
      ['move folder to', '/move', json({ source: 'my folder', destination: path, is_folder: true, overwrite })],
      [
        'copy folder below',
        '/copy',
        json({ source: 'my folder', destination: `${path}/new`, is_folder: true, overwrite }),
      ],
    ]),
  ];
}

export function json(body: object): Call {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** Returns an upload with a known content, so that a test can find it at any path. */
export function uploadRequest(path: string, order: 'prefix first' | 'file first'): NamedRequest {
  const slash = path.lastIndexOf('/') + 1;
  const prefix = { name: 'prefix', value: path.slice(0, slash) };
  const file = { name: 'file', filename: path.slice(slash), value: 'uploaded' };
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  const body = formOf(order === 'prefix first' ? [prefix, file] : [file, prefix]);
  return [`upload, ${order}`, '/upload', { method: 'POST', headers, body }];
}
