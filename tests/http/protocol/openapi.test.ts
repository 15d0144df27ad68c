import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { ERROR_CODES } from '../../../src/http/error-codes.ts';
import { disk, memory } from '../../contract/backend.ts';
import { dereference, readDocument } from '../../fuzz/document.ts';
import { jsonOf, send } from '../client.ts';
import { served, startService } from '../service.ts';

// Only the disk has signed URLs of the service, and so the route `/-/signed/`.
for (const backend of [memory, disk]) {
  describe(`OpenAPI document: ${backend.name}`, () => {
    const service = served(backend);
    let port: number;
    before(() => ({ port } = service));

    const ENDPOINTS: Readonly<Record<string, readonly string[]>> = {
      '/': ['get'],
      '/{path}': ['get'],
      '/upload': ['post'],
      '/delete/{path}': ['delete', 'post'],
      '/file/{path}': ['delete', 'get', 'head', 'put'],
      '/thumb/{path}': ['get'],
      '/-/preview/{path}': ['get'],
      '/-/media/{path}': ['get'],
      '/-/media': ['post'],
      '/rename/{path}': ['post'],
      '/delete_folder/{path}': ['delete', 'post'],
      '/rename_folder/{path}': ['post'],
      '/copy': ['post'],
      '/move': ['post'],
      '/create_folder': ['post'],
      '/-/health/live': ['get'],
      '/-/health/ready': ['get'],
      '/-/session': ['delete', 'get', 'post'],
      '/-/session/end': ['post'],
      '/-/sign-in': ['get'],
      '/-/trash': ['delete', 'get'],
      '/-/trash/{id}': ['delete'],
      '/-/trash/{id}/restore': ['post'],
      '/-/versions/{path}': ['delete', 'get', 'post'],
      '/-/zip': ['post'],
      '/-/zip/{path}': ['get', 'head'],
    };
    type Operation = {
      operationId?: string;
      summary?: string;
      parameters?: { name: string; in: string }[];
      requestBody?: { content: Record<string, { schema: { required?: string[]; properties: object } }> };
      responses: Record<string, { content?: object }>;
    };
    const describedPaths = async () => {
      const json = dereference(jsonOf(await send(port, '/-/openapi.json')));
      return json as { openapi: string; info: { title: string }; paths: Record<string, Record<string, Operation>> };
    };

    it('is OpenAPI 3.1.0, with exactly the endpoints and their methods', async () => {
      const { openapi, info, paths } = await describedPaths();
      assert.equal(openapi, '3.1.0');
      assert.equal(info.title, 'Holdall');
      const methods = Object.entries(paths).map(([path, operations]) => [path, Object.keys(operations).toSorted()]);
      const expected = { ...ENDPOINTS, ...(service.signsUrls && { '/-/signed/{path}': ['get', 'head'] }) };
      assert.deepEqual(Object.fromEntries(methods), expected);
    });

    it('describes every error code', async () => {
      const document = jsonOf(await send(port, '/-/openapi.json')) as {
        components: { schemas: { ErrorCode: { oneOf: { enum: string[]; description: string }[] } } };
      };
      const described = document.components.schemas.ErrorCode.oneOf.map(({ enum: [code = ''], description }) => {
        assert.ok(description, code);
        return code;
      });
      assert.deepEqual(described, Object.keys(ERROR_CODES));
    });

    it('documents the summary, statuses and path parameter of every operation', async () => {
      for (const [path, operations] of Object.entries((await describedPaths()).paths)) {
        for (const [method, { summary, parameters = [], responses }] of Object.entries(operations)) {
          const place = `${method} ${path}`;
          assert.ok(summary, place);
          assert.ok(responses['200'] ?? responses['302'], place);
          if (path !== '/-/health/live') assert.ok(responses['5XX'], place);
          const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
          assert.deepEqual(
            inPath,
            [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
            place,
          );
        }
      }
    });

    it('gives every operation a unique ID and its errors by status and code', async () => {
      const document = jsonOf(await send(port, '/-/openapi.json')) as {
        servers: { url: string }[];
        components: { schemas: Record<string, unknown> };
        paths: Record<string, Record<string, Operation>>;
      };
      assert.deepEqual(document.servers, [{ url: '..', description: 'This service' }]);
      const operations = Object.values(document.paths).flatMap((each) => Object.values(each));
      const ids = operations.map(({ operationId }) => operationId);
      assert.deepEqual([...new Set(ids)], ids);
      assert.ok(ids.every((id) => /^[a-z][A-Za-z]+$/.test(id ?? '')));
      for (const name of ['Failure', 'Listing', 'FileEntry', 'FolderEntry', 'TransferRequest', 'Progress'])
        assert.ok(name in document.components.schemas, name);
      const { responses } = document.paths['/copy']?.['post'] ?? assert.fail('/copy is missing.');
      const { content } = responses['409'] as { content: Record<string, { schema: object; examples: object }> };
      assert.deepEqual(Object.keys(content['application/json']?.examples ?? {}), [
        'locked',
        'already-exists',
        'wrong-kind',
        'other-file-system',
        'contains-mount',
      ]);
      assert.deepEqual(content['application/json']?.schema, { $ref: '#/components/schemas/Failure' });
    });

    it('documents all and the required fields of every body', async () => {
      const { paths } = await describedPaths();
      const json = 'application/json';
      for (const [path, type, required, properties] of [
        ['/upload', 'multipart/form-data', ['file'], ['file', 'prefix', 'modified', 'sender']],
        ['/rename/{path}', json, ['newName'], ['newName', 'overwrite']],
        ['/rename_folder/{path}', json, ['newName'], ['newName', 'overwrite']],
        ['/copy', json, ['source', 'destination', 'is_folder'], ['source', 'destination', 'is_folder', 'overwrite']],
        ['/move', json, ['source', 'destination', 'is_folder'], ['source', 'destination', 'is_folder', 'overwrite']],
        ['/create_folder', json, ['path'], ['path']],
        ['/-/zip', json, ['paths'], ['paths']],
        ['/-/zip', 'application/x-www-form-urlencoded', ['paths'], ['paths']],
        ['/-/session', json, ['name', 'password'], ['name', 'password']],
      ] as const) {
        const schema = paths[path]?.['post']?.requestBody?.content[type]?.schema;
        assert.deepEqual([schema?.required, Object.keys(schema?.properties ?? {})], [required, properties], path);
      }
    });

    it('documents the media types of responses', async () => {
      const { paths } = await describedPaths();
      const json = 'application/json';
      const lines = [json, 'application/x-ndjson'];
      const page = [json, 'text/html'];
      for (const [path, method, status, types] of [
        ['/', 'get', '200', page],
        ['/', 'get', '4XX', page],
        ['/file/{path}', 'get', '200', ['*/*']],
        ['/file/{path}', 'get', '206', ['*/*']],
        ['/file/{path}', 'get', '4XX', page],
        ['/thumb/{path}', 'get', '200', ['image/jpeg']],
        ['/-/preview/{path}', 'get', '200', ['image/webp', 'image/avif']],
        ['/copy', 'post', '200', lines],
        ['/move', 'post', '200', lines],
        ['/delete_folder/{path}', 'delete', '200', lines],
        ['/rename_folder/{path}', 'post', '200', lines],
        ['/-/health/live', 'get', '4XX', [json]],
        ['/-/health/ready', 'get', '4XX', [json]],
      ] as const) {
        const response = paths[path]?.[method]?.responses[status];
        assert.deepEqual(Object.keys(response?.content ?? {}), types, `${method} ${path} ${status}`);
      }
    });

    it('is available as a page with all its scripts and styles', async () => {
      const page = await send(port, '/-/docs');
      assert.equal(page.status, 200);
      assert.match(String(page.headers['content-type']), /^text\/html/);
      const html = page.body.toString();
      const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
      assert.ok(links.some((link) => link.endsWith('.js')));
      // The empty icon is part of the page, so it needs no request.
      assert.deepEqual(
        links.filter((link) => link.startsWith('data:')),
        ['data:,'],
      );
      for (const link of links.filter((each) => each !== 'data:,')) {
        const { origin, pathname } = new URL(link, `http://127.0.0.1:${port}/-/docs`);
        assert.equal(origin, `http://127.0.0.1:${port}`, 'nothing comes from elsewhere');
        assert.equal((await send(port, pathname)).status, 200, link);
      }
    });
  });
}

it('OpenAPI document: declares the errors that clients get that prefer HTML', async (t) => {
  const { port, stop } = await startService(memory, { hasJobs: true });
  t.after(stop);
  const document = await readDocument(port);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const operation of Object.keys(operations)) {
      const method = operation.toUpperCase();
      const target = path.replace(/\{\w+\}/, 'x');
      const response = await send(port, target, { method, headers: { accept: 'text/html' } });
      assert.doesNotThrow(() => document.assertDeclared(method, target, response), `${method} ${target}`);
    }
  }
});
