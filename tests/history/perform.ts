import { AssertionError } from 'node:assert/strict';
import {
  beginUpload,
  escapePath,
  followLocation,
  formOf,
  type HttpResponse,
  jsonOf,
  postBytes,
  postJson,
  send,
} from '../http/client.ts';
import { bytesOf, contentOf } from './content.ts';
import type { DavOperation, Operation, Outcome, UndoStep } from './history.ts';
import { performDav } from './perform-dav.ts';

/**
 * Sends an operation to the service at a port, by WebDAV if it has the operation and `protocol` says so. Returns its
 * outcome. Never rejects.
 */
export async function perform(port: number, operation: Operation, protocol: 'dav' | undefined): Promise<Outcome> {
  try {
    if (protocol === 'dav' && isDav(operation)) return await performDav(port, operation);
    switch (operation.does) {
      case 'upload':
        return await upload(port, operation);
      case 'fetch':
        return await fetchFile(port, operation);
      case 'list':
        return listed(await send(port, `/?prefix=${encodeURIComponent(operation.folder)}`));
      case 'delete':
        return changed(await send(port, `/delete/${escapePath(operation.path)}`, { method: 'DELETE' }));
      case 'restore':
      case 'restore folder':
        return changed(await send(port, `/-/trash/${operation.item}/restore`, { method: 'POST' }));
      case 'restore version':
        return changed(
          await postJson(port, `/-/versions/${escapePath(operation.path)}`, { version: operation.version }),
        );
      case 'undo':
        return changed(await postJson(port, '/-/undo', { change: operation.change }));
      case 'purge':
        return changed(await send(port, `/-/trash/${operation.item}`, { method: 'DELETE' }));
      case 'create folder':
        return changed(await postJson(port, '/create_folder', { path: operation.folder }));
      case 'delete folder':
        return changed(await send(port, `/delete_folder/${escapePath(operation.folder)}`, { method: 'DELETE' }));
      default:
        return changed(await transfer(port, operation));
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    // A response that the HTTP API does not have.
    const isOfResponse = error instanceof AssertionError || error instanceof SyntaxError;
    return { is: isOfResponse ? 'wrong' : 'unknown', why };
  }
}

function isDav(operation: Operation): operation is DavOperation {
  switch (operation.does) {
    case 'restore':
    case 'restore folder':
    case 'restore version':
    case 'purge':
    case 'undo':
      return false;
    default:
      return true;
  }
}

type Of<Does extends Operation['does']> = Operation & { readonly does: Does };

function transfer(
  port: number,
  { does, from, to, replace }: Of<'copy' | 'move' | 'rename' | 'copy folder' | 'move folder' | 'rename folder'>,
): Promise<HttpResponse> {
  const newName = to.split('/').findLast(Boolean);
  if (does === 'rename') return postJson(port, `/rename/${escapePath(from)}`, { newName, overwrite: replace });
  if (does === 'rename folder')
    return postJson(port, `/rename_folder/${escapePath(from)}`, { newName, overwrite: replace });
  const [verb = ''] = does.split(' ');
  const isFolder = does.endsWith(' folder');
  return postJson(port, `/${verb}`, { source: from, destination: to, is_folder: isFolder, overwrite: replace });
}

async function upload(port: number, { path, content, isNew, leaves }: Of<'upload'>): Promise<Outcome> {
  const slash = path.lastIndexOf('/') + 1;
  const form = formOf([
    { name: 'prefix', value: path.slice(0, slash) },
    { name: 'file', filename: path.slice(slash), value: bytesOf(content) },
  ]);
  const headers: Record<string, string> = isNew ? { 'if-none-match': '*' } : {};
  if (leaves === undefined) return changed(await postBytes(port, form, headers));
  const sending = beginUpload(port, { ...headers, 'content-length': String(form.length) });
  const isEarly = leaves === 'early';
  await sending.write(isEarly ? form.subarray(0, form.length / 2) : form);
  sending.disconnect();
  return isEarly ? { is: 'left' } : { is: 'unknown', why: 'the client left' };
}

async function fetchFile(port: number, { path, range }: Of<'fetch'>): Promise<Outcome> {
  const headers: Record<string, string> = range ? { range: `bytes=${range[0]}-${range[1]}` } : {};
  const requested = `/file/${escapePath(path)}`;
  const first = await send(port, requested, { headers });
  const location = first.status === 302 ? first.headers.location : undefined;
  const response = location === undefined ? first : await followLocation(port, requested, location, headers);
  if (response.status === 404) return { is: 'found', content: null };
  if (response.status !== 200 && response.status !== 206) return changed(response);
  const total = Number(response.headers['content-range']?.split('/')[1] ?? response.body.length);
  const isPart = response.status === 206;
  if (isPart !== (range !== undefined))
    return { is: 'wrong', why: `a ${response.status} is not a response to this request` };
  const length = range ? range[1] - range[0] + 1 : total;
  const content = response.body.length === length ? contentOf(response.body, range?.[0], total) : undefined;
  if (content === undefined) return { is: 'wrong', why: `bytes of no content, ${response.body.length} of ${total}` };
  return { is: 'found', content };
}

function listed(response: HttpResponse): Outcome {
  if (response.status === 404) return { is: 'listed', files: null };
  if (response.status !== 200) return changed(response);
  const { entries } = jsonOf(response) as { entries: { type: string; path: string; size: number }[] };
  const files = entries.filter(({ type }) => type === 'file').map(({ path, size }) => [path, size]);
  return { is: 'listed', files: Object.fromEntries(files) };
}

function changed(response: HttpResponse): Outcome {
  const { status } = response;
  if (status === 200) {
    const { change, changes: steps } = jsonOf(response) as { change?: string; changes?: UndoStep[] };
    return { is: 'done', ...(change !== undefined && { change }), ...(steps && { steps }) };
  }
  const error = String(jsonOf(response)['error']);
  // After an error of the store, the change can still have been made.
  if (status === 503) return { is: 'unknown', why: `503: ${error}` };
  return status < 500 ? { is: 'refused', status, error } : { is: 'wrong', why: `a ${status}: ${error}` };
}
