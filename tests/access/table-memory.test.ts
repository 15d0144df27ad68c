import { memory } from '../contract/backend.ts';
import { accessTable } from './table.ts';

accessTable(memory, { thorough: ['no credentials', 'a session'] });
