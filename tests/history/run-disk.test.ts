import { judgeRuns } from './judged-run.ts';

judgeRuns('disk', 3);
