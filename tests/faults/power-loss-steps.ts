import assert from 'node:assert/strict';
import type { Client, Step } from './power-loss-session.ts';

/** Larger than what an upload writes in one call. */
const LARGE = 'large '.repeat(30_000);

const newest = async (client: Client, path: string): Promise<string> => {
  const { entries } = (await client.get('/-/trash')) as { entries: { id: string; path: string }[] };
  return entries.find((entry) => entry.path === path)?.id ?? '';
};

const restore = async (client: Client, path: string): Promise<void> => {
  await client.post(`/-/trash/${await newest(client, path)}/restore`, {});
};

interface Overwriting {
  readonly overwrite?: boolean;
}

const copy = async (client: Client, source: string, destination: string, options: Overwriting = {}): Promise<void> => {
  await client.post('/copy', { source, destination, is_folder: source.endsWith('/'), ...options });
};

const move = async (client: Client, source: string, destination: string, options: Overwriting = {}): Promise<void> => {
  await client.post('/move', { source, destination, is_folder: source.endsWith('/'), ...options });
};

/**
 * Uploads, copies, renames and moves. A new kind of change needs a step here, and no other code: the test compares what programs see with
 * what a power loss leaves. Each upload needs a content of its own, so that it can be found anywhere.
 */
const CHANGES: readonly Step[] = [
  { title: 'the start of the service', run: (client) => client.get('/-/health/ready') },
  { title: 'the upload of a file', run: (client) => client.upload('a.txt', 'a 1') },
  { title: 'the upload of an empty file', run: (client) => client.upload('empty', '') },
  { title: 'the upload of a large file', run: (client) => client.upload('large.txt', LARGE) },
  {
    title: 'the upload of a file to new folders',
    run: (client) => client.upload('new/été 🎒/b "1" > #.txt', 'b 1'),
  },
  {
    title: 'the upload of a file that must not exist',
    run: (client) => client.upload('c.txt', 'c 1', { 'if-none-match': '*' }),
  },
  { title: 'the replacement of a file', run: (client) => client.upload('a.txt', 'a 2') },
  { title: 'the second replacement of a file', run: (client) => client.upload('a.txt', 'a 3') },
  {
    title: 'the replacement of a file in new folders',
    run: (client) => client.upload('new/été 🎒/b "1" > #.txt', 'b 2'),
  },
  {
    title: 'the creation of nested folders',
    run: (client) => client.post('/create_folder', { path: 'empty folder/1/2' }),
  },
  {
    title: 'the rename of a file',
    run: (client) => client.post('/rename/c.txt', { newName: 'd.txt' }),
  },
  {
    title: 'the move of a file to a new folder',
    run: (client) => move(client, 'd.txt', 'moved/here/d.txt'),
  },
  {
    title: 'the move of a file over another one',
    async run(client) {
      await client.upload('e.txt', 'e 1');
      await move(client, 'e.txt', 'moved/here/d.txt', { overwrite: true });
    },
  },
  {
    title: 'the copy of a file',
    run: (client) => copy(client, 'a.txt', 'copies/a.txt'),
  },
  {
    title: 'the copy of a file over another one',
    async run(client) {
      await client.upload('f.txt', 'f 1');
      await copy(client, 'a.txt', 'f.txt', { overwrite: true });
    },
  },
  {
    title: 'the copy of a folder',
    run: (client) => copy(client, 'new/', 'copies/new/'),
  },
  {
    title: 'the rename of a folder',
    run: (client) => client.post('/rename_folder/copies', { newName: 'copied' }),
  },
  {
    title: 'the move of a folder to a new folder',
    run: (client) => move(client, 'copied/', 'moved/2/copied/'),
  },
  {
    title: 'the move of a folder over another one',
    async run(client) {
      await client.upload('g/g.txt', 'g 1');
      await client.upload('h/h.txt', 'h 1');
      await move(client, 'g/', 'h/', { overwrite: true });
    },
  },
  {
    title: 'the copy of a folder over another one',
    async run(client) {
      await client.upload('i/i.txt', 'i 1');
      await copy(client, 'h/', 'i/', { overwrite: true });
    },
  },
];

const TUS = { 'tus-resumable': '1.0.0' };

/** Begins a resumable upload and returns its URL. */
async function begin(client: Client, path: string, size: number): Promise<string> {
  const metadata = `path ${Buffer.from(path).toString('base64')}`;
  const headers = { ...TUS, 'upload-length': String(size), 'upload-metadata': metadata };
  const { headers: received } = await client.send('/-/uploads', { method: 'POST', headers });
  return new URL(received.location ?? '', 'http://localhost').pathname;
}

interface Part {
  readonly offset: number;
  readonly body: string;
  readonly checksum?: string;
}

const append = (client: Client, url: string, { offset, body, checksum }: Part, status = 204) =>
  client.send(
    url,
    {
      method: 'PATCH',
      headers: {
        ...TUS,
        'content-type': 'application/offset+octet-stream',
        'upload-offset': String(offset),
        ...(checksum !== undefined && { 'upload-checksum': checksum }),
      },
      body,
    },
    status,
  );

const RAW: readonly Step[] = [
  {
    title: 'the upload of a raw body',
    run: (client) => client.send('/file/raw/k.txt', { method: 'PUT', body: 'k 1' }),
  },
  { title: 'the start of an upload in parts', run: (client) => begin(client, 'parts/l.txt', 6) },
  {
    title: 'a part of an upload in parts',
    async run(client) {
      const url = await begin(client, 'parts/m.txt', 6);
      await append(client, url, { offset: 0, body: 'm 1' });
    },
  },
  {
    title: 'a part with a wrong checksum',
    async run(client) {
      const url = await begin(client, 'parts/n.txt', 12);
      await append(client, url, { offset: 0, body: 'n 1' });
      await append(client, url, { offset: 3, body: 'wrong', checksum: `sha1 ${'A'.repeat(27)}=` }, 460);
    },
  },
  {
    title: 'the last part of an upload in parts',
    async run(client) {
      const url = await begin(client, 'parts/o.txt', 6);
      await append(client, url, { offset: 0, body: 'o 1' });
      await append(client, url, { offset: 3, body: 'o 2' });
    },
  },
  {
    title: 'the last part of an upload that replaces a file',
    async run(client) {
      await client.upload('parts/p.txt', 'p 1');
      const url = await begin(client, 'parts/p.txt', 3);
      await append(client, url, { offset: 0, body: 'p 2' });
    },
  },
];

const REMOVALS: readonly Step[] = [
  { title: 'the deletion of a file', run: (client) => client.delete('/delete/moved/here/d.txt') },
  { title: 'the deletion of a folder', run: (client) => client.delete('/delete_folder/moved/2') },
  {
    title: 'the permanent deletion of a file',
    run: (client) => client.delete('/delete/large.txt?permanent=true'),
  },
  {
    title: 'the permanent deletion of a file with its versions',
    async run(client) {
      await client.upload('j.txt', 'j 1');
      await client.upload('j.txt', 'j 2');
      await client.delete('/delete/j.txt?permanent=true');
    },
  },
  {
    title: 'the permanent deletion of a folder',
    run: (client) => client.delete('/delete_folder/h?permanent=true'),
  },
];

/** Everything that needs the trash or versions, after `CHANGES` and `REMOVALS`. */
const TRASH_AND_VERSIONS: readonly Step[] = [
  { title: 'the restore of a file', run: (client) => restore(client, 'moved/here/d.txt') },
  { title: 'the restore of a folder', run: (client) => restore(client, 'moved/2/') },
  {
    title: 'the restore of a version',
    async run(client) {
      const { versions } = (await client.get('/-/versions/a.txt')) as { versions: { id: string }[] };
      await client.post('/-/versions/a.txt', { version: versions.at(-1)?.id });
    },
  },
  {
    title: 'the permanent deletion of an item in the trash',
    async run(client) {
      await client.delete('/delete/f.txt');
      await client.delete(`/-/trash/${await newest(client, 'f.txt')}`);
    },
  },
  {
    title: 'the undo of the creation of a folder',
    async run(client) {
      const { change } = await client.post('/create_folder', { path: 'undone/' });
      await client.post('/-/undo', { change });
    },
  },
  {
    title: 'the undo of a deletion',
    async run(client) {
      const { change } = await client.delete('/delete/moved/here/d.txt');
      await client.post('/-/undo', { change });
    },
  },
];

/** Changes of the database only. */
const DATABASE: readonly Step[] = [
  { title: 'the creation of a share link', run: (client) => client.post('/-/links', LINK) },
  {
    title: 'the revocation of a share link',
    async run(client) {
      const { link } = (await client.post('/-/links', LINK)) as { link: { id: string } };
      await client.delete(`/-/links/${link.id}`);
    },
  },
  {
    title: 'the change of a share link',
    async run(client) {
      const { link } = (await client.post('/-/links', LINK)) as { link: { id: string } };
      const headers = { 'content-type': 'application/json' };
      await client.send(`/-/links/${link.id}`, { method: 'PATCH', headers, body: '{"label":"changed"}' });
    },
  },
];

const LINK = { path: 'a.txt', label: 'kept' };

/** The steps of a service with its default settings. */
export const DEFAULT_STEPS: readonly Step[] = [...CHANGES, ...RAW, ...REMOVALS, ...TRASH_AND_VERSIONS, ...DATABASE];

/** The steps that a service without a trash and versions does in another way: those that delete or replace something. */
export const STEPS_WITHOUT_TRASH: readonly Step[] = [
  ...['the upload of a file', 'the replacement of a file'].map(stepOf),
  {
    title: 'the move of a file over another one',
    async run(client) {
      await client.upload('e.txt', 'e 1');
      await client.upload('d.txt', 'd 1');
      await move(client, 'e.txt', 'd.txt', { overwrite: true });
    },
  },
  ...[
    'the copy of a file over another one',
    'the move of a folder over another one',
    'the copy of a folder over another one',
    'the last part of an upload that replaces a file',
  ].map(stepOf),
  { title: 'the deletion of a file', run: (client) => client.delete('/delete/d.txt') },
  { title: 'the deletion of a folder', run: (client) => client.delete('/delete_folder/i') },
];

function stepOf(title: string): Step {
  return DEFAULT_STEPS.find((step) => step.title === title) ?? assert.fail(title);
}
