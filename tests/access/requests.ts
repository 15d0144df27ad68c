import type { FolderPath } from '../../src/model/path.ts';
import { BOUNDARY, type Call, formOf } from '../http/client.ts';
import { DESTINATION, GONE, RENAMED, SOURCE } from './tree.ts';

/** A request for files in `source`, and in `destination` where it has one. The path can have ids of `TestTree.withIds`. */
export interface TableRequest extends Call {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer;
  /** Default: `SOURCE`. */
  readonly source?: FolderPath;
  readonly destination?: FolderPath;
}

/** The headers of an upload whose first part is the whole content. */
const wholeUpload = (path: string, content: string) => ({
  'tus-resumable': '1.0.0',
  'content-type': 'application/offset+octet-stream',
  'upload-length': String(content.length),
  'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
});

/** The requests of each table row that requires rights, by the title of the row. */
export const REQUESTS: Readonly<Record<string, readonly TableRequest[]>> = {
  'List a folder': [
    { method: 'GET', path: `/${SOURCE}` },
    { method: 'GET', path: '/top/ab?limit=1000' },
    { method: 'GET', path: `/?prefix=${SOURCE}` },
    { method: 'HEAD', path: `/${SOURCE}` },
    { method: 'HEAD', path: `/?prefix=${SOURCE}` },
  ],
  'List the locks in a folder': [{ method: 'GET', path: `/-/locks?folder=${SOURCE}` }],
  'Fetch a file': [
    { method: 'GET', path: '/file/top/ab/x.txt' },
    { method: 'HEAD', path: '/file/top/ab/x.txt' },
  ],
  'Download a folder as an archive': [
    { method: 'GET', path: `/-/zip/${SOURCE}` },
    { method: 'HEAD', path: `/-/zip/${SOURCE}` },
  ],
  'Download files as an archive': [json('/-/zip', { paths: ['top/ab/x.txt', 'top/ab/picture.png'] })],
  'Follow changes': [{ method: 'GET', path: `/-/changes?folder=${SOURCE}` }],
  'Fetch a thumbnail': [
    { method: 'GET', path: '/thumb/top/ab/picture.png' },
    { method: 'HEAD', path: '/thumb/top/ab/picture.png' },
  ],
  'Fetch a preview': [
    { method: 'GET', path: '/-/preview/top/ab/picture.png?width=320' },
    { method: 'HEAD', path: '/-/preview/top/ab/picture.png?width=320' },
  ],
  'Get the details of an image': [{ method: 'GET', path: '/-/media/top/ab/picture.png' }],
  'Get the details of images': [json('/-/media', { paths: ['top/ab/picture.png'] })],
  'Upload a new file': uploads('new.txt'),
  'Upload over a file': uploads('x.txt'),
  'Delete a file': [
    { method: 'DELETE', path: '/delete/top/ab/x.txt' },
    { method: 'POST', path: '/delete/top/ab/x.txt' },
    { method: 'DELETE', path: '/file/top/ab/x.txt' },
  ],
  'Rename a file': [json('/rename/top/ab/x.txt', { newName: 'new.txt' })],
  'Rename a file over another': [json('/rename/top/ab/x.txt', { newName: 'picture.png', overwrite: true })],
  'Create a folder': [json('/create_folder', { path: `${SOURCE}new/` })],
  'Delete a folder': [
    { method: 'DELETE', path: `/delete_folder/${SOURCE}` },
    { method: 'POST', path: `/delete_folder/${SOURCE}` },
  ],
  'Rename a folder': [json('/rename_folder/top/ab/', { newName: 'ef' }, { destination: RENAMED })],
  'Rename a folder over another': [
    json('/rename_folder/top/ab/', { newName: 'cd', overwrite: true }, { destination: DESTINATION }),
  ],
  'List the trash': [{ method: 'GET', path: `/-/trash?folder=${SOURCE}` }],
  'Restore an item': [json('/-/trash/{gone}/restore', {}, { source: GONE })],
  'Restore an item to another path': [
    json('/-/trash/{gone}/restore', { to: RENAMED }, { source: GONE, destination: RENAMED }),
  ],
  'Delete an item permanently': [{ method: 'DELETE', path: '/-/trash/{gone}', source: GONE }],
  'Empty the trash': [{ method: 'DELETE', path: `/-/trash?folder=${SOURCE}` }],
  'Undo the upload of a new file': [json('/-/undo', { change: '{change of top/ab/x.txt}' })],
  'List versions': [{ method: 'GET', path: '/-/versions/top/ab/x.txt' }],
  'Fetch a version': [
    { method: 'GET', path: '/file/top/ab/x.txt?version={version of top/ab/x.txt}' },
    { method: 'HEAD', path: '/file/top/ab/x.txt?version={version of top/ab/x.txt}' },
  ],
  'Fetch the thumbnail of a version': [
    { method: 'GET', path: '/thumb/top/ab/picture.png?version={version of top/ab/picture.png}' },
  ],
  'Fetch the preview of a version': [
    { method: 'GET', path: '/-/preview/top/ab/picture.png?width=320&version={version of top/ab/picture.png}' },
  ],
  'Get the details of a version': [
    { method: 'GET', path: '/-/media/top/ab/picture.png?version={version of top/ab/picture.png}' },
  ],
  'Restore a version': [restoreVersion('top/ab/former.txt')],
  'Restore a version over a file': [restoreVersion('top/ab/x.txt')],
  'Delete the versions of a file': [{ method: 'DELETE', path: '/-/versions/top/ab/x.txt' }],
  ...transfers('Copy', '/copy'),
  ...transfers('Move', '/move'),
};

function transfers(verb: string, path: string): Record<string, readonly TableRequest[]> {
  const file = { source: 'top/ab/x.txt', is_folder: false };
  const folder = { source: SOURCE, is_folder: true };
  const over = { overwrite: true };
  return {
    [`${verb} a file`]: [json(path, { ...file, destination: 'top/cd/new.txt' }, { destination: DESTINATION })],
    [`${verb} a file over another`]: [
      json(path, { ...file, ...over, destination: 'top/cd/taken.txt' }, { destination: DESTINATION }),
    ],
    [`${verb} a folder`]: [json(path, { ...folder, destination: RENAMED }, { destination: RENAMED })],
    [`${verb} a folder over another`]: [
      json(path, { ...folder, ...over, destination: DESTINATION }, { destination: DESTINATION }),
    ],
  };
}

function json(path: string, body: object, folders: Pick<TableRequest, 'source' | 'destination'> = {}): TableRequest {
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', path, headers, body: JSON.stringify(body), ...folders };
}

function restoreVersion(path: string): TableRequest {
  return json(`/-/versions/${path}`, { version: `{version of ${path}}` });
}

/** Uploads with both orders of the form parts. */
function uploads(name: string): readonly TableRequest[] {
  const prefix = { name: 'prefix', value: SOURCE };
  const file = { name: 'file', filename: name, value: 'uploaded' };
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  return [
    { method: 'POST', path: '/upload', headers, body: formOf([prefix, file]) },
    { method: 'POST', path: '/upload', headers, body: formOf([file, prefix]) },
    { method: 'PUT', path: `/file/${SOURCE}${name}`, body: 'uploaded' },
    { method: 'POST', path: '/-/uploads', headers: wholeUpload(SOURCE + name, 'uploaded'), body: 'uploaded' },
    {
      method: 'POST',
      path: `/-/uploads?path=${encodeURIComponent(SOURCE + name)}`,
      headers: { 'upload-complete': '?1' },
      body: 'uploaded',
    },
  ];
}
