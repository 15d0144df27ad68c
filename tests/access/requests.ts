import type { FolderPath } from '../../src/model/path.ts';
import { BOUNDARY, type Call, formOf } from '../http/client.ts';
import { DESTINATION, RENAMED, SOURCE } from './tree.ts';

/** A request for files in `SOURCE`, and in `destination` where it has one. */
export interface TableRequest extends Call {
  readonly method: string;
  readonly path: string;
  readonly destination?: FolderPath;
}

/** The requests of each table row that requires rights, by the title of the row. */
export const REQUESTS: Readonly<Record<string, readonly TableRequest[]>> = {
  'List a folder': [
    { method: 'GET', path: `/${SOURCE}` },
    { method: 'GET', path: '/top/ab?limit=1000' },
    { method: 'GET', path: `/?prefix=${SOURCE}` },
    { method: 'HEAD', path: `/${SOURCE}` },
    { method: 'HEAD', path: `/?prefix=${SOURCE}` },
  ],
  'Fetch a file': [
    { method: 'GET', path: '/file/top/ab/x.txt' },
    { method: 'HEAD', path: '/file/top/ab/x.txt' },
  ],
  'Follow changes': [{ method: 'GET', path: `/-/changes?folder=${SOURCE}` }],
  'Fetch a thumbnail': [
    { method: 'GET', path: '/thumb/top/ab/picture.png' },
    { method: 'HEAD', path: '/thumb/top/ab/picture.png' },
  ],
  'Upload a new file': uploads('new.txt'),
  'Upload over a file': uploads('x.txt'),
  'Delete a file': [
    { method: 'DELETE', path: '/delete/top/ab/x.txt' },
    { method: 'POST', path: '/delete/top/ab/x.txt' },
  ],
  'Rename a file': [json('/rename/top/ab/x.txt', { newName: 'new.txt' })],
  'Rename a file over another': [json('/rename/top/ab/x.txt', { newName: 'picture.png', overwrite: true })],
  'Create a folder': [json('/create_folder', { path: `${SOURCE}new/` })],
  'Delete a folder': [
    { method: 'DELETE', path: `/delete_folder/${SOURCE}` },
    { method: 'POST', path: `/delete_folder/${SOURCE}` },
  ],
  'Rename a folder': [json('/rename_folder/top/ab/', { newName: 'ef' }, RENAMED)],
  'Rename a folder over another': [json('/rename_folder/top/ab/', { newName: 'cd', overwrite: true }, DESTINATION)],
  ...transfers('Copy', '/copy'),
  ...transfers('Move', '/move'),
};

function transfers(verb: string, path: string): Record<string, readonly TableRequest[]> {
  const file = { source: 'top/ab/x.txt', is_folder: false };
  const folder = { source: SOURCE, is_folder: true };
  const over = { overwrite: true };
  return {
    [`${verb} a file`]: [json(path, { ...file, destination: 'top/cd/new.txt' }, DESTINATION)],
    [`${verb} a file over another`]: [json(path, { ...file, ...over, destination: 'top/cd/taken.txt' }, DESTINATION)],
    [`${verb} a folder`]: [json(path, { ...folder, destination: RENAMED }, RENAMED)],
    [`${verb} a folder over another`]: [json(path, { ...folder, ...over, destination: DESTINATION }, DESTINATION)],
  };
}

function json(path: string, body: object, destination?: FolderPath): TableRequest {
  const call = { method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  return destination === undefined ? call : { ...call, destination };
}

/** Uploads with both orders of the form parts. */
function uploads(name: string): readonly TableRequest[] {
  const prefix = { name: 'prefix', value: SOURCE };
  const file = { name: 'file', filename: name, value: 'uploaded' };
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  return [
    { method: 'POST', path: '/upload', headers, body: formOf([prefix, file]) },
    { method: 'POST', path: '/upload', headers, body: formOf([file, prefix]) },
  ];
}
