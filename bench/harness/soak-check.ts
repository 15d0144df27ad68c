import type { Client } from './soak-client.ts';
import { isContentOf, type SoakFile } from './soak-files.ts';

/**
 * Compares all stored files with the expected ones. Rejects at the first file that is missing, unexpected or different.
 * Returns the number of compared files.
 */
export async function checkStored(client: Client, files: readonly SoakFile[]): Promise<number> {
  for (const file of files) {
    let response = await client.get(`/file/${file.path.split('/').map(encodeURIComponent).join('/')}`);
    if (response.status === 302) response = await client.get(response.headers.location ?? '');
    if (response.status !== 200) throw new Error(`${file.path}: ${response.status}`);
    if (!isContentOf(file, response.body)) throw new Error(`${file.path} holds other bytes than were stored`);
  }
  const expected = new Set(files.map(({ path }) => path));
  for await (const path of pathsIn(client, '')) {
    if (!expected.has(path) && !path.endsWith('/picture.jpg')) throw new Error(`${path} should not be there`);
  }
  return files.length;
}

interface Page {
  readonly entries: readonly { readonly type: 'file' | 'folder'; readonly path: string }[];
  readonly cursor?: string;
}

async function* pathsIn(client: Client, folder: string): AsyncGenerator<string> {
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ prefix: folder, ...(cursor !== undefined && { cursor }) });
    const { status, body } = await client.get(`/?${query.toString()}`);
    if (status !== 200) throw new Error(`the list of ${folder}: ${status}`);
    const page = JSON.parse(body.toString()) as Page;
    for (const { type, path } of page.entries) {
      if (type === 'folder') yield* pathsIn(client, path);
      else yield path;
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}
