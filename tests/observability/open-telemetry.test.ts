import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ExportResultCode } from '@opentelemetry/core';
import { reportExportState } from '../../src/observability/open-telemetry.ts';

it('The first of consecutive failures of the trace export is reported, and the recovery', () => {
  const reports: string[] = [];
  let error: Error | undefined;
  const exporter = reportExportState(
    {
      export: (_spans, done) =>
        done(error === undefined ? { code: ExportResultCode.SUCCESS } : { code: ExportResultCode.FAILED, error }),
      shutdown: async () => {},
    },
    {
      onExportFailed: (reason) => void reports.push(reason),
      onExportRecovered: () => void reports.push('recovered'),
    },
  );
  let done = 0;
  for (const reason of [undefined, 'first', 'second', undefined, undefined, 'third']) {
    error = reason === undefined ? undefined : new Error(reason);
    exporter.export([], () => void done++);
  }
  assert.deepEqual(reports, ['first', 'recovered', 'third']);
  assert.equal(done, 6);
});
