import { beginUpload, type Call, escapePath, type HttpResponse, send } from '../http/client.ts';
import { bytesOf, contentOf } from './content.ts';
import type { DavOperation, Outcome } from './history.ts';

/** Sends an operation to the service as a WebDAV client does. Returns its outcome. */
export async function performDav(port: number, operation: DavOperation): Promise<Outcome> {
  switch (operation.does) {
    case 'upload':
      return await upload(port, operation);
    case 'fetch':
      return found(operation, await request(port, 'GET', operation.path, rangeOf(operation)));
    case 'list':
      return listed(operation.folder, await request(port, 'PROPFIND', operation.folder, { depth: '1' }));
    case 'delete':
      return changed(await request(port, 'DELETE', operation.path));
    case 'delete folder':
      return changed(await request(port, 'DELETE', operation.folder));
    case 'create folder': {
      const response = await request(port, 'MKCOL', operation.folder);
      // The folder exists. The HTTP API reports that as a success.
      return response.status === 405 ? { is: 'done' } : changed(response);
    }
    default: {
      const { does, from, to, replace } = operation;
      const headers = { destination: pathOf(to), overwrite: replace ? 'T' : 'F' };
      const response = await request(port, does.startsWith('copy') ? 'COPY' : 'MOVE', from, headers);
      // An existing destination is a conflict for clients of the HTTP API, unlike a source that changes meanwhile.
      const isConflict = response.status === 412 && !textOf(response).includes('>file-changed</H:code>');
      return isConflict ? { is: 'refused', status: 409, error: textOf(response) } : changed(response);
    }
  }
}

type Of<Does extends DavOperation['does']> = DavOperation & { readonly does: Does };

const pathOf = (path: string) => `/-/dav/${escapePath(path)}`;

const textOf = ({ body }: HttpResponse) => body.toString();

function request(port: number, method: string, path: string, headers: Call['headers'] = {}): Promise<HttpResponse> {
  return send(port, pathOf(path), { method, headers });
}

async function upload(port: number, { path, content, isNew, leaves }: Of<'upload'>): Promise<Outcome> {
  const bytes = bytesOf(content);
  const headers: Record<string, string> = {
    'content-type': 'application/octet-stream',
    'content-length': String(bytes.length),
    ...(isNew && { 'if-none-match': '*' }),
  };
  const sending = beginUpload(port, headers, { method: 'PUT', path: pathOf(path) });
  const isEarly = leaves === 'early';
  await sending.write(isEarly ? bytes.subarray(0, bytes.length / 2) : bytes);
  if (leaves === undefined) return changed(await sending.finish());
  sending.disconnect();
  return isEarly ? { is: 'left' } : { is: 'unknown', why: 'the client left' };
}

function rangeOf({ range }: Of<'fetch'>): Record<string, string> {
  return range ? { range: `bytes=${range[0]}-${range[1]}` } : {};
}

function found({ range }: Of<'fetch'>, response: HttpResponse): Outcome {
  const { status, headers, body } = response;
  if (status === 404) return { is: 'found', content: null };
  if (status !== (range ? 206 : 200)) return changed(response);
  const total = Number(headers['content-range']?.split('/')[1] ?? body.length);
  const content = contentOf(body, range?.[0], total);
  if (content === undefined) return { is: 'wrong', why: `bytes of no content, ${body.length} of ${total}` };
  return { is: 'found', content };
}

/** Returns the files of a multistatus response: those with a size. */
function listed(folder: string, response: HttpResponse): Outcome {
  if (response.status === 404) return { is: 'listed', files: null };
  if (response.status !== 207) return changed(response);
  const files: Record<string, number> = {};
  for (const [, one = ''] of textOf(response).matchAll(/<(?:\w+:)?response>([^]*?)<\/(?:\w+:)?response>/g)) {
    const [, href = ''] = /<(?:\w+:)?href>([^<]*)</.exec(one) ?? [];
    const [, size] = /<(?:\w+:)?getcontentlength>(\d+)</.exec(one) ?? [];
    const path = decodeURIComponent(href).slice('/-/dav/'.length);
    if (size !== undefined && path !== folder) files[path] = Number(size);
  }
  return { is: 'listed', files };
}

function changed(response: HttpResponse): Outcome {
  const { status } = response;
  if (status === 200 || status === 201 || status === 204) return { is: 'done' };
  const error = textOf(response);
  // RFC 4918, sections 9.7.1 and 9.8.5: the folder of the destination does not exist.
  if (status === 409) return { is: 'without folder', error };
  // After an error of the store, the change can still have been made.
  if (status === 503) return { is: 'unknown', why: `503: ${error}` };
  return status >= 400 && status < 500
    ? { is: 'refused', status, error }
    : { is: 'wrong', why: `a ${status}: ${error}` };
}
