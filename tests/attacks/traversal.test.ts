import assert from 'node:assert/strict';
import { it } from 'node:test';
import { encodeCursor } from '../../src/model/page.ts';
import { json } from '../faults/path-requests.ts';
import { BOUNDARY, formOf, type HttpResponse, jsonOf } from '../http/client.ts';
import { type Attack, SECRET, startAttackedService } from './attacked-service.ts';
import { representativesOf, spellingsOf, textsOf } from './spellings.ts';

it('rejects path traversal out of a granted folder in every encoding', async (t) => {
  const service = await startAttackedService(t);
  const secret = await service.requestAsOwner('/file/other/secret.txt');
  assert.equal(`${secret.status} ${secret.body.toString()}`, `200 ${SECRET}`, 'The secret exists.');

  for (const parameter of PARAMETERS) {
    await t.test(parameter.name, async () => {
      service.restore();
      const allowed = await service.attack(...parameter.request(parameter.permitted));
      assert.equal(allowed.status, 200, `The permitted value permitted: ${allowed.body.toString()}`);
      service.restore();
      const plain = await service.attack(...parameter.request(parameter.target));
      const expected = parameter.plainStatuses ?? [400, 403, 404];
      assert.ok(expected.includes(plain.status), `${plain.status} ${plain.body.toString()}`);

      const spell = OF_EACH_PARSER.has(parameter.name) ? spellingsOf : representativesOf;
      const spellings = spell(parameter.target, service.base);
      for (const form of parameter.isText ? textsOf(spellings) : spellings) {
        const response = await service.attack(...parameter.request(form));
        parameter.check?.(response, form);
        if (parameter.removes && response.status === 200) service.restore();
      }
      await service.assertUntouched(parameter.name);
    });
  }

  await t.test('rejects path traversal in a signed URL', async () => {
    service.restore();
    const { headers } = await service.attack('/file/mine/large.bin');
    const { pathname, search } = new URL(headers.location ?? '', `http://127.0.0.1:${service.port}/file/mine/`);
    assert.equal((await service.attack(pathname + search)).status, 200);
    for (const form of [
      ...representativesOf('other/secret.txt', service.base),
      'mine/folder/large.bin',
      'mine/large.bin/',
      'MINE/large.bin',
    ]) {
      const { status, body } = await service.attack(`/-/signed/${form}${search}`, { headers: { authorization: '' } });
      assert.ok([400, 403, 404].includes(status), `${form}: ${status} ${body.toString()}`);
    }
  });

  await t.test('rejects path traversal in the asset paths of the web UI and the documentation', async () => {
    const page = await service.attack('/mine/', { headers: { accept: 'text/html' } });
    const asset =
      /[^"]*\/-\/assets\/[^"]+\.js/.exec(page.body.toString())?.[0] ?? assert.fail('The page has no script.');
    assert.equal((await service.attack(new URL(asset, 'http://service/mine/').pathname)).status, 200);
    assert.equal((await service.attack('/-/docs/api-reference.js')).status, 200);
    const target = `${'../'.repeat(12)}${service.base.slice(1)}/secret.txt`;
    for (const folder of ['/-/assets/', '/-/docs/', '/-/']) {
      for (const form of representativesOf(target, service.base)) {
        const { status, body } = await service.attack(`${folder}${form}`, { headers: { authorization: '' } });
        assert.ok(status >= 400, `${folder}${form}: ${status} ${body.toString()}`);
      }
    }
  });
  await service.assertUntouched('after all attacks');
});

/** One parameter for each decoder of paths: URL, query and text. These get all spellings. */
const OF_EACH_PARSER: ReadonlySet<string> = new Set([
  'GET /file/',
  'prefix of a query',
  'file name of an upload, prefix first',
]);

/** A parameter of the API that takes a path or a name. */
interface Parameter {
  readonly name: string;
  readonly request: (form: string) => Attack;
  /** A permitted value. */
  readonly permitted: string;
  /** The target of the attack. */
  readonly target: string;
  /** The statuses for the target in its plain spelling. Default: those of a refusal. */
  readonly plainStatuses?: readonly number[];
  /** Whether the value is a text without URL encoding. */
  readonly isText?: true;
  /** Whether a permitted request removes what the next one needs. Other requests can leave files with odd names in `mine/`. */
  readonly removes?: true;
  /** Checks every response. */
  readonly check?: (response: HttpResponse, form: string) => void;
}

const onFile = { permitted: 'mine/image.png', target: 'other/image.png' } as const;
const onFolder = { permitted: 'mine/folder', target: 'other/folder' } as const;
const toFile = { permitted: 'mine/new.txt', target: 'other/new.txt', isText: true } as const;
const toFolder = { permitted: 'mine/new', target: 'other/new', isText: true } as const;

const reads = {
  check: ({ status, body }: HttpResponse, form: string) =>
    assert.ok(status >= 400, `${form}: ${status} ${body.toString()}`),
} as const;

/** A listing can be that of the client's own folder by another name, but never one of another folder. */
const lists = {
  check: (response: HttpResponse, form: string) => {
    if (response.status >= 400) return;
    assert.match(String(jsonOf(response)['prefix']), /^(?:mine\/.*)?$/, form);
    assert.doesNotMatch(response.body.toString(), /"(?:other|secret)/, form);
  },
} as const;

const upload = (prefix: string, filename: string, order: 'prefix first' | 'file first'): Attack => {
  const parts = [
    { name: 'prefix', value: prefix },
    { name: 'file', filename, value: 'uploaded' },
  ];
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
  return ['/upload', { method: 'POST', headers, body: formOf(order === 'prefix first' ? parts : parts.toReversed()) }];
};

const transfers = (['/copy', '/move'] as const).flatMap((url): Parameter[] => {
  const request = (source: string, destination: string, isFolder: boolean): Attack => [
    url,
    json({ source, destination, is_folder: isFolder, overwrite: true }),
  ];
  const text = { isText: true } as const;
  const moves = url === '/move' ? ({ removes: true } as const) : {};
  return [
    {
      name: `${url}: source, a file`,
      request: (form) => request(form, 'mine/taken', false),
      ...onFile,
      ...text,
      ...moves,
    },
    {
      name: `${url}: source, a folder`,
      request: (form) => request(form, 'mine/taken', true),
      ...onFolder,
      ...text,
      ...moves,
    },
    {
      name: `${url}: destination, a file`,
      request: (form) => request('mine/note.txt', form, false),
      ...toFile,
      ...moves,
    },
    {
      name: `${url}: destination, a folder`,
      request: (form) => request('mine/folder', form, true),
      ...toFolder,
      ...moves,
    },
  ];
});

const PARAMETERS: readonly Parameter[] = [
  { name: 'GET /file/', request: (form) => [`/file/${form}`], ...onFile, ...reads },
  { name: 'HEAD /file/', request: (form) => [`/file/${form}`, { method: 'HEAD' }], ...onFile, ...reads },
  { name: 'GET /thumb/', request: (form) => [`/thumb/${form}`], ...onFile, ...reads },
  { name: 'GET a folder', request: (form) => [`/${form}`], ...onFolder, ...lists },
  {
    name: 'GET a folder as the page',
    request: (form) => [`/${form}`, { headers: { accept: 'text/html' } }],
    ...onFolder,
    check: ({ body }, form) => assert.doesNotMatch(body.toString(), /"path":"other/, form),
  },
  { name: 'prefix of a query', request: (form) => [`/?prefix=${form}`], ...onFolder, ...lists },
  {
    name: 'prefix of a query, below a path',
    request: (form) => [`/mine?prefix=${form}`],
    ...onFolder,
    permitted: 'mine',
    ...lists,
  },
  {
    name: 'cursor of the root',
    request: (form) => [`/?cursor=${encodeCursor({ last: form })}`],
    permitted: 'mine/',
    target: '../',
    // The cursor is a position in a list of visible entries only.
    plainStatuses: [200],
    isText: true,
    ...lists,
  },
  {
    name: 'cursor of a folder',
    request: (form) => [`/mine?cursor=${encodeCursor({ last: form })}`],
    permitted: 'mine/folder/',
    target: '../other/a',
    isText: true,
    ...lists,
  },
  { name: 'DELETE /delete/', request: (form) => [`/delete/${form}`, { method: 'DELETE' }], ...onFile, removes: true },
  { name: 'POST /delete/', request: (form) => [`/delete/${form}`, { method: 'POST' }], ...onFile, removes: true },
  { name: '/rename/', request: (form) => [`/rename/${form}`, json({ newName: 'taken' })], ...onFile, removes: true },
  {
    name: 'DELETE /delete_folder/',
    request: (form) => [`/delete_folder/${form}`, { method: 'DELETE' }],
    ...onFolder,
    removes: true,
  },
  {
    name: '/rename_folder/',
    request: (form) => [`/rename_folder/${form}`, json({ newName: 'taken' })],
    ...onFolder,
    removes: true,
  },
  {
    name: 'newName of a file',
    request: (newName) => ['/rename/mine/note.txt', json({ newName, overwrite: true })],
    ...toFile,
    permitted: 'new.txt',
    target: '../other/new.txt',
    removes: true,
  },
  {
    name: 'newName of a folder',
    request: (newName) => ['/rename_folder/mine/folder', json({ newName, overwrite: true })],
    ...toFolder,
    permitted: 'new',
    target: '../other/new',
    removes: true,
  },
  ...transfers,
  { name: '/create_folder', request: (path) => ['/create_folder', json({ path })], ...toFolder },
  ...(['prefix first', 'file first'] as const).flatMap((order): Parameter[] => [
    { name: `prefix of an upload, ${order}`, request: (form) => upload(form, 'new.txt', order), ...toFolder },
    {
      name: `file name of an upload, ${order}`,
      request: (form) => upload('mine/', form, order),
      ...toFile,
      permitted: 'new.txt',
      target: '..',
    },
  ]),
];
