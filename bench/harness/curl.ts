import { basename } from 'node:path';
import { run } from '../../testing/processes.ts';
import { requireHost } from './requests.ts';

/** The order of the two parts of an upload. */
export type PartOrder = 'prefix first' | 'file first';

/** An upload to a folder of Holdall. */
export interface FormUpload {
  /** Of the service. */
  readonly base: URL;
  readonly file: string;
  readonly prefix: string;
  readonly order: PartOrder;
}

/** Uploads as a browser does. Rejects unless the response confirms the name of the file. */
export async function uploadForm({ base, file, prefix, order }: FormUpload, signal: AbortSignal): Promise<void> {
  const prefixPart = ['--form-string', `prefix=${prefix}`];
  const filePart = ['--form', `file=@"${file}"`];
  const parts = order === 'prefix first' ? [...prefixPart, ...filePart] : [...filePart, ...prefixPart];
  const response = await curl(new URL('/upload', base), parts, signal);
  const path = `${prefix}${basename(file)}`;
  if (response.status !== 200 || !storedAs(response.body, path)) {
    throw new Error(`upload of ${path}: ${response.status} ${response.body}`);
  }
}

/** Uploads with one PUT. Rejects unless the server created the file. */
export async function uploadByPut(url: URL, file: string, signal: AbortSignal): Promise<void> {
  const response = await curl(url, ['--upload-file', file], signal);
  if (response.status !== 201) throw new Error(`PUT ${url.href}: ${response.status} ${response.body}`);
}

/** Downloads a file from a byte offset and discards it. Returns the number of bytes. Rejects unless the response is a 206. */
export async function downloadFrom(url: URL, firstByte: number, signal: AbortSignal): Promise<number> {
  const response = await curl(url, ['--range', `${firstByte}-`, '--output', '/dev/null'], signal);
  if (response.status !== 206) throw new Error(`GET ${url.href} from byte ${firstByte}: ${response.status}`);
  return response.bytes;
}

interface CurlResponse {
  readonly status: number;
  readonly bytes: number;
  readonly body: string;
}

/** `--disable` must come first. It ignores the curl settings of the user. */
async function curl(url: URL, options: readonly string[], signal: AbortSignal): Promise<CurlResponse> {
  requireHost(url);
  const always = ['--disable', '--silent', '--show-error', '--noproxy', '*', '--max-time', '900'];
  const report = ['--write-out', '\n%{http_code} %{size_download}'];
  const { stdout } = await run({ file: 'curl', args: [...always, ...report, ...options, url.href] }, signal);
  const lastLine = stdout.lastIndexOf('\n');
  const [status = 0, bytes = 0] = stdout
    .slice(lastLine + 1)
    .split(' ')
    .map(Number);
  return { status, bytes, body: stdout.slice(0, lastLine) };
}

function storedAs(body: string, path: string): boolean {
  try {
    const response: unknown = JSON.parse(body);
    return typeof response === 'object' && response !== null && 'path' in response && response.path === path;
  } catch {
    return false;
  }
}
