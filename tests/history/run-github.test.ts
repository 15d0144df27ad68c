import { judgeRuns } from './judged-run.ts';

judgeRuns('github', 5);
