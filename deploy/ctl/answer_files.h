// AnswerPage() and AnswerNote() write an answer for people to keep: a page that
// needs nothing beside it, and a note in Markdown.
//
// Thread safety: free functions over values.
#ifndef FERRY_DEPLOY_CTL_ANSWER_FILES_H_
#define FERRY_DEPLOY_CTL_ANSWER_FILES_H_

#include <string>

#include "deploy/ctl/answer.h"

namespace ferry::ctl {

// Returns HTML in the style of the bench report. `date`: as of AnswerJson().
std::string AnswerPage(const Answer& answer, const std::string& date);

// Returns a decision note: the decision, what it rests on, numbers with their
// formulas, and what speaks against it.
std::string AnswerNote(const Answer& answer, const std::string& date);

}  // namespace ferry::ctl

#endif  // FERRY_DEPLOY_CTL_ANSWER_FILES_H_
