import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccessDenied } from '../../src/access/permission-checks.ts';
import { HttpError, problemOf } from '../../src/http/errors.ts';
import { StoreError } from '../../src/model/error.ts';

const fastifyError = (code: string, parts: object = {}) =>
  Object.assign(new Error('text of Fastify'), { code, ...parts });

describe('The response to an error', () => {
  // tests/http/protocol/store-errors.test.ts has the status of each kind of store error.
  it('has the Retry-After of an unavailable store, by default 1 second, and none for other errors', () => {
    assert.equal(problemOf(new StoreError('unavailable', 'text', { retryAfter: 7 }), 'id').retryAfter, 7);
    assert.equal(problemOf(new StoreError('unavailable', 'text'), 'id').retryAfter, 1);
    assert.equal(problemOf(new StoreError('denied', 'text'), 'id').retryAfter, undefined);
  });

  it('is 401 for an anonymous client without permission, and 403 for a user', () => {
    assert.equal(problemOf(new AccessDenied('text', { isAnonymous: true }), 'id').status, 401);
    assert.equal(problemOf(new AccessDenied('text', { isAnonymous: false }), 'id').status, 403);
  });

  it('is a 500 with the request id and nothing of the error if it is unexpected', () => {
    for (const error of [new Error('secret'), 'secret', fastifyError('FST_ERR_X', { statusCode: 500 })]) {
      const { status, message } = problemOf(error, 'request-7');
      assert.equal(status, 500);
      assert.match(message, /request-7/);
      assert.doesNotMatch(message, /secret|Fastify/);
    }
  });

  it('has the status of the framework for requests that the framework rejects', () => {
    assert.equal(problemOf(new HttpError('method-not-allowed', 'text'), 'id').status, 405);
    const codes = { BAD_URL: 400, CTP_INVALID_MEDIA_TYPE: 400, CTP_EMPTY_JSON_BODY: 400, CTP_INVALID_JSON_BODY: 400 };
    const others = { CTP_BODY_TOO_LARGE: 413, CTP_INVALID_CONTENT_LENGTH: 400 };
    for (const [code, status] of Object.entries({ ...codes, ...others })) {
      const problem = problemOf(fastifyError(`FST_ERR_${code}`), 'id');
      assert.equal(problem.status, status, code);
      assert.doesNotMatch(problem.message, /Fastify/);
    }
    assert.equal(problemOf(fastifyError('FST_ERR_OTHER', { statusCode: 414 }), 'id').status, 414);
  });

  it('names the field, the rule and the value of an invalid request, and shortens the value', () => {
    const invalid = (validation: object[], validationContext?: string) =>
      problemOf(fastifyError('FST_ERR_VALIDATION', { validation, validationContext }), 'id').message;
    const rule = { keyword: 'type', message: 'must be string', params: {} };
    assert.equal(
      invalid([{ ...rule, instancePath: '/a~1b', data: 1 }], 'body'),
      'The field "a/b" of the body must be string, but is 1.',
    );
    assert.match(invalid([{ ...rule, instancePath: '/a', data: 'x'.repeat(200) }], 'body'), /"x{99}…\.$/);
    assert.equal(invalid([{ ...rule, instancePath: '' }], 'body'), 'The body must be a JSON object.');
    assert.equal(invalid([{ ...rule, keyword: 'x', instancePath: '' }], 'querystring'), 'The query must be string.');
    assert.equal(
      invalid([{ keyword: 'required', instancePath: '', params: { missingProperty: 'path' } }], 'body'),
      'The body lacks "path".',
    );
    assert.equal(invalid([]), 'The request is not valid.');
  });
});
