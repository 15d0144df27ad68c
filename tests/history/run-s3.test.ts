import { judgeRuns } from './judged-run.ts';

judgeRuns('bucket', 6);
