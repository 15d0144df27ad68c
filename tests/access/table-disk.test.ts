import { disk } from '../contract/backend.ts';
import { accessTable } from './table.ts';

accessTable(disk, { thorough: ['nothing', 'a session'] });
