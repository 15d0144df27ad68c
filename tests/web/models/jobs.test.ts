import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Progress } from '../../../web/src/platform/service/operation-request.ts';
import { isAbort, ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createJobScene, jobList, jobOf, jobResponse } from './job-service.ts';
import { refusal } from './service-errors.ts';

const COPY = {
  method: 'POST',
  job: { kind: 'copy-folder', input: { source: 'photos/', destination: 'backup/photos/', overwrite: false } },
} as const;
const DONE = { status: 'succeeded', result: { path: 'backup/photos/' } } as const;
const lost = new ServiceError(0, '');
const NEWEST = 'GET -/jobs?limit=50';

describe('An operation that the service runs as a job', () => {
  it('ends with one request if the service responds with its result', async () => {
    const { jobs, sent } = createJobScene({ responses: { 'POST copy': [{ success: true, message: 'Copied.' }] } });
    assert.deepEqual(await jobs.run('copy', COPY, {}), { success: true, message: 'Copied.' });
    assert.deepEqual(sent, ['POST copy']);
  });

  it('is followed to its end with its progress, and does not need the page meanwhile', async () => {
    const events: (Progress | boolean)[] = [];
    const { jobs, sent } = createJobScene({
      responses: {
        'POST copy': [jobResponse({ status: 'queued' })],
        'GET -/jobs/1': [jobResponse({ progress: { done: 1, total: 2, bytes: 5 } }), jobResponse(DONE)],
      },
    });
    const result = await jobs.run('copy', COPY, {
      onProgress: (progress) => void events.push(progress),
      onDetached: (isDetached) => void events.push(isDetached),
    });
    assert.deepEqual(result, { path: 'backup/photos/' });
    assert.deepEqual(events, [true, { done: 1, total: 2, bytes: 5 }, false]);
    assert.deepEqual(sent, ['POST copy', 'GET -/jobs/1', 'GET -/jobs/1']);
  });

  it('fails with the code of its failure', async () => {
    const failure = { code: 'store-full', error: 'The disk is full.' };
    const { jobs } = createJobScene({
      responses: { 'POST copy': [jobResponse()], 'GET -/jobs/1': [jobResponse({ status: 'failed', failure })] },
    });
    await assert.rejects(jobs.run('copy', COPY, {}), { code: 'store-full', message: 'The disk is full.' });
  });

  it('is cancelled once by the signal, and by another page', async () => {
    const cancelling = new AbortController();
    const { jobs, sent } = createJobScene({
      responses: {
        'POST copy': [jobResponse()],
        'GET -/jobs/1': [jobResponse(), jobResponse({ status: 'cancelled' })],
        'DELETE -/jobs/1': [refusal('database-unavailable', ''), jobResponse()],
      },
      onPause: () => cancelling.abort(),
    });
    await assert.rejects(jobs.run('copy', COPY, { signal: cancelling.signal }), isAbort);
    assert.deepEqual(sent.slice(1), ['GET -/jobs/1', 'DELETE -/jobs/1', 'DELETE -/jobs/1', 'GET -/jobs/1']);

    const other = createJobScene({ responses: { 'GET -/jobs/1': [jobResponse({ status: 'cancelled' })] } });
    await assert.rejects(other.jobs.follow(jobOf(), {}), isAbort);
  });

  it('is followed with growing pauses while the service does not respond', async () => {
    const pauses: number[] = [];
    const down = [lost, refusal('database-unavailable', ''), lost, lost, lost, lost];
    const { jobs } = createJobScene({
      responses: { 'GET -/jobs/1': [...down, jobResponse(), jobResponse(DONE)] },
      onPause: (milliseconds) => void pauses.push(milliseconds),
    });
    await jobs.follow(jobOf(), {});
    assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 1_000]);
  });

  it('has an unknown outcome if the service does not know it any longer', async () => {
    const { jobs } = createJobScene({ responses: { 'GET -/jobs/1': [refusal('job-not-found', '')] } });
    await assert.rejects(jobs.follow(jobOf(), {}), { isOutcomeUnknown: true });
    const denied = createJobScene({ responses: { 'GET -/jobs/1': [refusal('sign-in-required', '')] } });
    await assert.rejects(denied.jobs.follow(jobOf(), {}), { code: 'sign-in-required' });
  });

  it('is found and followed if the response to its request is lost', async () => {
    const other = jobOf({
      id: '2',
      user: 'ann',
      input: { source: 'notes/', destination: 'backup/photos/', overwrite: false },
    });
    const older = jobOf({ id: '3', user: 'ann', createdAt: new Date(Date.now() - 60_000).toISOString() });
    const ofBob = jobOf({ id: '4', user: 'bob' });
    const own = jobOf({ user: 'ann' });
    const { jobs, sent } = createJobScene({
      user: 'ann',
      responses: {
        'POST copy': [new ServiceError(502, '')],
        [NEWEST]: [lost, jobList(other, older, ofBob, own)],
        'GET -/jobs/1': [jobResponse(DONE)],
      },
    });
    assert.deepEqual(await jobs.run('copy', COPY, {}), { path: 'backup/photos/' });
    assert.deepEqual(sent, ['POST copy', NEWEST, NEWEST, 'GET -/jobs/1']);
  });

  it('fails with the first error if no job is found after a lost response', async () => {
    const responses = { 'POST copy': [lost], [NEWEST]: [jobList()] };
    await assert.rejects(createJobScene({ responses }).jobs.run('copy', COPY, {}), lost);
    const down = createJobScene({ responses: { 'POST copy': [lost], [NEWEST]: [lost] } });
    await assert.rejects(down.jobs.run('copy', COPY, {}), lost);
    assert.equal(down.sent.length, 6);
    const cancelling = new AbortController();
    const cancelled = createJobScene({ responses, onRequest: () => cancelling.abort() });
    await assert.rejects(cancelled.jobs.run('copy', COPY, { signal: cancelling.signal }), isAbort);
    const refused = createJobScene({ responses: { 'POST copy': [refusal('not-found', '')] } });
    await assert.rejects(refused.jobs.run('copy', COPY, {}), { code: 'not-found' });
    assert.deepEqual(refused.sent, ['POST copy']);
  });
});

describe('The jobs of other pages', () => {
  it('are the unfinished ones of the user that this page neither follows nor starts', async () => {
    const UNFINISHED = 'GET -/jobs?unfinished=true';
    const listed = [
      jobOf({ id: 'own', user: 'ann' }),
      jobOf({ id: 'other', user: 'ann', input: { source: 'notes/' } }),
      jobOf({ id: 'of Bob', user: 'bob', input: { source: 'notes/' } }),
    ];
    const starting = Promise.withResolvers<unknown>();
    const found: (readonly string[])[] = [];
    const find = async () => void found.push((await scene.jobs.findOthers()).map(({ id }) => id));
    const scene = createJobScene({
      user: 'ann',
      responses: {
        'POST copy': [starting.promise],
        'GET -/jobs/own': [jobResponse(), jobResponse(DONE)],
        [UNFINISHED]: [jobList(...listed)],
      },
    });
    const running = scene.jobs.run('copy', COPY, { onDetached: (isDetached) => void (isDetached && find()) });
    await find();
    starting.resolve(jobResponse({ id: 'own' }));
    await running;
    await find();
    assert.deepEqual(found, [['other'], ['other'], ['own', 'other']]);
  });

  it('include those of the tab from before a reload, also if they have ended or are not listed', async () => {
    const remembered = new Map([
      ['ended', null],
      ['expired', null],
      ['unknown', null],
      ['signed out', null],
      ['of Ann', 'ann'],
    ]);
    const { jobs, sent } = createJobScene({
      isListed: false,
      remembered,
      responses: {
        'GET -/jobs/ended': [jobResponse({ id: 'ended', ...DONE })],
        'GET -/jobs/expired': [refusal('job-not-found', '')],
        'GET -/jobs/unknown': [lost],
        'GET -/jobs/signed out': [refusal('sign-in-required', '')],
      },
    });
    const [ended, ...others] = await jobs.findOthers();
    assert.deepEqual([ended?.id, others], ['ended', []]);
    assert.equal(sent.length, 4);
    assert.deepEqual([...remembered.keys()], ['ended', 'unknown', 'signed out', 'of Ann']);
    const following = jobs.follow(jobOf({ id: 'ended' }), {});
    assert.equal(remembered.has('ended'), true);
    await following;
    assert.equal(remembered.has('ended'), false);
  });
});
